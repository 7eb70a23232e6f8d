import Database from 'better-sqlite3'
import { mysqlFence, postgresFence, sqliteFence } from 'holdfast/fence'
import { createPool as createCallbackPool, type PoolConnection } from 'mysql2'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import { noting, placed, type Run, type Scene, type Transaction } from './scene.ts'

const dollar = (n: number): string => `$${n}`
const mark = (): string => '?'

/** Over `pg`. */
export async function pgScene(url: string): Promise<Scene> {
  const pool = new Pool({ connectionString: url, max: 5 })
  const notes: string[] = []
  const over = async <T>(
    begin: string,
    commit: string,
    work: (one: Transaction) => Promise<T>,
  ): Promise<T> => {
    const client = await pool.connect()
    const run: Run = async (sql, ...values) => {
      const result = await client.query<Record<string, unknown>>(placed(sql, dollar), values)
      return { rows: result.rows, result }
    }
    try {
      await client.query(begin)
      const value = await work({ tx: noting(client, ['query'], notes), run })
      await client.query(commit)
      return value
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }
  return {
    guard: (options) => postgresFence(options),
    db: pool,
    transaction: (work) => over('BEGIN', 'COMMIT', work),
    bare: (work) => over('SELECT 1', 'SELECT 1', work),
    placeholder: dollar,
    statements: () => notes.splice(0),
    close: () => pool.end(),
  }
}

/** Over postgres.js. */
export async function postgresJsScene(url: string): Promise<Scene> {
  const sql = postgres(url, { max: 5, onnotice: () => {} })
  const notes: string[] = []
  const runOn =
    (one: { unsafe: (text: string, values?: never[]) => PromiseLike<unknown> }): Run =>
    async (text, ...values) => {
      const result = await one.unsafe(placed(text, dollar), values as never[])
      return { rows: [...(result as Record<string, unknown>[])], result }
    }
  return {
    guard: (options) => postgresFence(options),
    db: sql,
    transaction: async (work) =>
      (await sql.begin((one) => work({ tx: noting(one, ['unsafe'], notes), run: runOn(one) }))) as never,
    async bare(work) {
      const one = await sql.reserve()
      try {
        return await work({ tx: noting(one, ['unsafe'], notes), run: runOn(one) })
      } finally {
        one.release()
      }
    },
    placeholder: dollar,
    statements: () => notes.splice(0),
    close: () => sql.end(),
  }
}

/** Over `mysql2/promise`. */
export async function mysqlScene(url: string, flags: string[] = []): Promise<Scene> {
  const pool = createPool({ uri: url, connectionLimit: 5, flags })
  const notes: string[] = []
  const over = async <T>(begins: boolean, work: (one: Transaction) => Promise<T>): Promise<T> => {
    const connection = await pool.getConnection()
    const run: Run = async (sql, ...values) => {
      const result = await connection.query(placed(sql, mark), values)
      return { rows: result[0] as Record<string, unknown>[], result }
    }
    try {
      if (begins) await connection.beginTransaction()
      const value = await work({ tx: noting(connection, ['query'], notes), run })
      await connection.commit()
      return value
    } catch (error) {
      await connection.rollback()
      throw error
    } finally {
      connection.release()
    }
  }
  return {
    guard: (options) => mysqlFence(options),
    db: pool,
    transaction: (work) => over(true, work),
    bare: (work) => over(false, work),
    placeholder: mark,
    statements: () => notes.splice(0),
    close: () => pool.end(),
  }
}

/** Over `mysql2` with callbacks, without the flag by which it counts rows that stay as they are. */
export async function mysqlCallbackScene(url: string): Promise<Scene> {
  const pool = createCallbackPool({ uri: url, connectionLimit: 5, flags: ['-FOUND_ROWS'] })
  const notes: string[] = []
  const over = async <T>(begin: string, work: (one: Transaction) => Promise<T>): Promise<T> => {
    const connection = await new Promise<PoolConnection>((resolve, reject) => {
      pool.getConnection((error, one) => (error ? reject(error) : resolve(one)))
    })
    const run: Run = async (sql, ...values) => {
      const result = await connection.promise().query(placed(sql, mark), values)
      return { rows: result[0] as Record<string, unknown>[], result }
    }
    const promised = noting(connection.promise(), ['query'], notes)
    try {
      await run(begin)
      const value = await work({
        tx: Object.assign(Object.create(connection), { promise: () => promised }),
        run,
      })
      await run('COMMIT')
      return value
    } catch (error) {
      await run('ROLLBACK')
      throw error
    } finally {
      connection.release()
    }
  }
  return {
    guard: (options) => mysqlFence(options),
    db: pool,
    transaction: (work) => over('BEGIN', work),
    bare: (work) => over('DO 0', work),
    placeholder: mark,
    statements: () => notes.splice(0),
    close: () => pool.promise().end(),
  }
}

/** Over better-sqlite3; each transaction has a connection of its own. */
export async function sqliteScene(path: string): Promise<Scene> {
  const open = (): Database.Database => {
    const database = new Database(path, { timeout: 0 })
    database.pragma('journal_mode = WAL')
    return database
  }
  const db = open()
  const notes: string[] = []
  const over = async <T>(begins: boolean, work: (one: Transaction) => Promise<T>): Promise<T> => {
    const database = open()
    const run: Run = async (sql, ...values) => {
      const statement = database.prepare(placed(sql, mark))
      if (statement.reader)
        return { rows: statement.all(...values) as Record<string, unknown>[], result: null }
      return { rows: [], result: statement.run(...values) }
    }
    const noted = new Proxy(database, {
      get(object, name) {
        const value: unknown = Reflect.get(object, name, object)
        if (name !== 'prepare')
          return typeof value === 'function' ? (value as () => void).bind(object) : value
        return (sql: string) => noting(object.prepare(sql), ['run', 'get'], notes)
      },
    })
    try {
      if (begins) database.exec('BEGIN IMMEDIATE')
      const value = await work({ tx: noted, run })
      if (begins) database.exec('COMMIT')
      return value
    } catch (error) {
      if (database.inTransaction) database.exec('ROLLBACK')
      throw error
    } finally {
      database.close()
    }
  }
  return {
    guard: (options) => sqliteFence(options),
    db,
    transaction: (work) => over(true, work),
    bare: (work) => over(false, work),
    placeholder: mark,
    statements: () => notes.splice(0),
    close: async () => void db.close(),
  }
}
