import Database from 'better-sqlite3'
import type { Store } from 'holdfast'
import { postgresStore } from 'holdfast/postgres'
import { sqliteStore } from 'holdfast/sqlite'
import pg from 'pg'

/** A value in a statement. */
export type Value = string | number | bigint | null

/** One way to speak to either database. Placeholders are `$1`, `$2`, …: both understand them. */
export interface Sql {
  /** Runs one statement. @returns its rows: for an UPDATE those that RETURNING names */
  rows<Row>(statement: string, ...values: readonly Value[]): Promise<Row[]>
}

export interface SqlDatabase extends Sql {
  /** Both, or neither, of what `work` does. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /** Where locks and callbacks that were handled are kept. */
  readonly store: Store
  close(): Promise<void>
}

/** @param address `postgres://…`, or the path of a SQLite file */
export async function openDatabase(address: string): Promise<SqlDatabase> {
  return address.startsWith('postgres:') ? openPostgres(address) : openSqlite(address)
}

async function openPostgres(address: string): Promise<SqlDatabase> {
  // A statement that waits for somebody else's lock gives up, and the caller tries again later.
  const pool = new pg.Pool({ connectionString: address, max: 10, options: '-c lock_timeout=500' })
  pool.on('error', (error) => console.error(`Postgres: ${error.message}`))
  const over = (client: Pick<pg.Pool, 'query'>): Sql => ({
    rows: async <Row>(statement: string, ...values: readonly Value[]) =>
      (await client.query(statement, [...values])).rows as Row[],
  })
  const store = postgresStore(pool)
  await store.migrate()
  return {
    ...over(pool),
    store,
    transaction: async (work) => {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const result = await work(over(client))
        await client.query('COMMIT')
        client.release()
        return result
      } catch (error) {
        // Whatever state it is in: closed, it rolls back.
        client.release(true)
        throw error
      }
    },
    close: () => pool.end(),
  }
}

function openSqlite(path: string): SqlDatabase {
  const database = new Database(path, { timeout: 500 })
  database.pragma('journal_mode = WAL')
  const locks = new Database(`${path}.locks`)
  const sql: Sql = {
    rows: <Row>(statement: string, ...values: readonly Value[]) => {
      const prepared = database.prepare(statement)
      const named = Object.fromEntries(values.map((value, n) => [String(n + 1), value]))
      const run = values.length === 0 ? [] : [named]
      return Promise.resolve(prepared.reader ? (prepared.all(...run) as Row[]) : (prepared.run(...run), []))
    },
  }
  // One connection, so one transaction at a time.
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => undefined)
    return turn
  }
  return {
    rows: <Row>(statement: string, ...values: readonly Value[]) =>
      inTurn(async () => sql.rows<Row>(statement, ...values)),
    store: sqliteStore(locks),
    transaction: (work) =>
      inTurn(async () => {
        database.exec('BEGIN IMMEDIATE')
        try {
          const result = await work(sql)
          database.exec('COMMIT')
          return result
        } catch (error) {
          if (database.inTransaction) database.exec('ROLLBACK')
          throw error
        }
      }),
    close: async () => {
      database.close()
      locks.close()
    },
  }
}
