import Database from 'better-sqlite3'
import { createHoldfast, type Holdfast, type Store } from 'holdfast'
import { postgresStore } from 'holdfast/postgres'
import { sqliteStore } from 'holdfast/sqlite'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import postgres from 'postgres'
import { sleep } from '../../src/index.ts'

/** A transaction of a test's own, with a table of effects beside the store's tables. */
export interface EffectTransaction {
  /** What is handed to `run`. */
  readonly given: unknown
  /** Writes one row in it. */
  effect(what: string): Promise<void>
  /** Ends its connection without commit or rollback, as when the process dies: nothing may come after it. */
  die(): Promise<void>
}

/** A database with a store in it, and a table of effects. */
export interface EffectBench {
  /** The store, over a client or connection of its own. */
  readonly store: Store
  readonly prefix: string
  /** One process. */
  open(): Holdfast
  /** Commits when `work` resolves, rolls back when it rejects. */
  transact<T>(work: (transaction: EffectTransaction) => Promise<T>): Promise<T>
  /** How often something was done and committed. */
  effects(what: string): Promise<number>
  end(): Promise<void>
}

export const benchKinds = ['pg', 'postgres.js', 'sqlite'] as const

export async function openBench(kind: (typeof benchKinds)[number], url: string): Promise<EffectBench> {
  if (kind === 'sqlite') return sqliteBench()
  const back = new Pool({ connectionString: url, max: 2 })
  back.on('error', () => undefined)
  await postgresStore(back).migrate()
  await back.query('CREATE TABLE IF NOT EXISTS effects (what text NOT NULL)')
  const prefix = `bench-${randomUUID()}`
  const effects = async (what: string): Promise<number> => {
    const { rows } = await back.query('SELECT FROM effects WHERE what = $1', [prefix + what])
    return rows.length
  }
  return kind === 'pg' ? pgBench(url, prefix, back, effects) : postgresJsBench(url, prefix, back, effects)
}

function pgBench(url: string, prefix: string, back: Pool, effects: EffectBench['effects']): EffectBench {
  const pool = new Pool({ connectionString: url, max: 30 })
  const opened: Holdfast[] = []
  return {
    store: postgresStore(pool),
    prefix,
    effects,
    open: () => {
      const hf = createHoldfast({ store: postgresStore(pool), prefix })
      opened.push(hf)
      return hf
    },
    transact: async (work) => {
      const client = await pool.connect()
      const quiet = (): void => undefined
      client.on('error', quiet)
      let dead = false
      try {
        await client.query('BEGIN')
        const result = await work({
          given: client,
          effect: async (what) =>
            void (await client.query('INSERT INTO effects VALUES ($1)', [prefix + what])),
          die: async () => {
            dead = true
            const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
            await back.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])
          },
        })
        await client.query('COMMIT')
        return result
      } catch (error) {
        if (!dead) await client.query('ROLLBACK')
        throw error
      } finally {
        client.removeListener('error', quiet)
        client.release(dead)
      }
    },
    end: async () => {
      for (const hf of opened) await hf.close()
      await Promise.all([pool.end(), back.end()])
    },
  }
}

function postgresJsBench(
  url: string,
  prefix: string,
  back: Pool,
  effects: EffectBench['effects'],
): EffectBench {
  const sql = postgres(url, { max: 30, onnotice: () => undefined })
  const opened: Holdfast[] = []
  return {
    store: postgresStore(sql),
    prefix,
    effects,
    open: () => {
      const hf = createHoldfast({ store: postgresStore(sql), prefix })
      opened.push(hf)
      return hf
    },
    transact: async <T>(work: (transaction: EffectTransaction) => Promise<T>): Promise<T> => {
      const result = await sql.begin((tx) =>
        work({
          given: tx,
          effect: async (what) => void (await tx`INSERT INTO effects VALUES (${prefix + what})`),
          die: async () => {
            const [row] = await tx`SELECT pg_backend_pid() AS pid`
            await back.query('SELECT pg_terminate_backend($1)', [(row as { pid: number }).pid])
            // postgres.js learns of the loss by itself. A commit that comes after it, on the connection that is no more, would end this process.
            return new Promise<never>(() => undefined)
          },
        }),
      )
      return result as T
    },
    end: async () => {
      for (const hf of opened) await hf.close()
      await Promise.all([sql.end({ timeout: 1 }), back.end()])
    },
  }
}

async function sqliteBench(): Promise<EffectBench> {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-effects-'))
  const file = join(dir, 'shop.db')
  const connections: Database.Database[] = []
  const opened: Holdfast[] = []
  const connect = (): Database.Database => {
    const database = new Database(file, { timeout: 0 })
    connections.push(database)
    return database
  }
  const back = connect()
  back.exec('PRAGMA journal_mode = WAL; CREATE TABLE effects (what TEXT NOT NULL)')
  return {
    store: sqliteStore(connect()),
    prefix: 'holdfast:v1',
    effects: async (what) => back.prepare('SELECT 1 FROM effects WHERE what = ?').all(what).length,
    open: () => {
      const hf = createHoldfast({ store: sqliteStore(connect()) })
      opened.push(hf)
      return hf
    },
    transact: async (work) => {
      const database = connect()
      await begin(database)
      let dead = false
      try {
        const result = await work({
          given: database,
          effect: async (what) => void database.prepare('INSERT INTO effects VALUES (?)').run(what),
          die: async () => {
            dead = true
            database.close()
          },
        })
        database.exec('COMMIT')
        return result
      } catch (error) {
        if (!dead) database.exec('ROLLBACK')
        throw error
      } finally {
        database.close()
      }
    },
    end: async () => {
      for (const hf of opened) await hf.close()
      for (const database of connections) database.close()
      rmSync(dir, { recursive: true })
    },
  }
}

/** Becomes the one who writes; others are waited for without blocking them, who may be in this process. */
async function begin(database: Database.Database): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      database.exec('BEGIN IMMEDIATE')
      return
    } catch (error) {
      if (tries === 2_000 || !(error as { code?: string }).code?.startsWith('SQLITE_BUSY')) throw error
      await sleep(2)
    }
  }
}
