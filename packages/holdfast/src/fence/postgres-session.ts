import { InvalidArgumentError } from '../errors.ts'
import { poolGiven } from './refusals.ts'

/** What a guard uses of a client of `pg`: a `Client`, or what `pool.connect()` gives. */
export interface FencePgLike {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** What a guard uses of `postgres` (postgres.js): the `sql` of `sql.begin(…)` or of `sql.reserve()`. */
export interface FencePostgresJsLike {
  // Its own declarations name the types of all parameters that it can send; we send none but the caller's.
  unsafe(text: string, values?: never[]): PromiseLike<readonly unknown[]>
}

/** Where a guard of Postgres works: inside a transaction of the caller's. */
export type PostgresTransaction = FencePgLike | FencePostgresJsLike

/** Where the registry can be made: also a pool, or postgres.js's own `sql`. */
export type PostgresDatabase = PostgresTransaction

type Row = Readonly<Record<string, unknown>>

/** One statement. Without values it goes by the simple protocol, in one message. */
export type RunPostgres = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>

/** @throws InvalidArgumentError for what is no client that we know */
export function postgresRunner(db: unknown, option: 'db' | 'tx'): RunPostgres {
  if (isPostgresJs(db)) {
    return async (text, values) =>
      (await (values === undefined ? db.unsafe(text) : db.unsafe(text, [...values] as never[]))) as Row[]
  }
  if (isPg(db)) {
    return async (text, values) => {
      const { rows } = await (values === undefined ? db.query(text) : db.query(text, [...values]))
      return rows as Row[]
    }
  }
  throw new InvalidArgumentError(option, typeof db === 'object' ? (db?.constructor?.name ?? db) : db, {
    problem: 'is not a client of Postgres that we know',
    remedy:
      'Give a client of pg (`await pool.connect()`, after BEGIN), or the `sql` that `sql.begin` of postgres.js hands over.',
  })
}

/**
 * The same for a transaction.
 *
 * @throws InvalidArgumentError also for a pool, whose calls go over any of its connections
 */
export function postgresTransaction(tx: unknown): RunPostgres {
  const run = postgresRunner(tx, 'tx')
  if (isPostgresJs(tx) && 'begin' in tx && 'end' in tx) {
    throw poolGiven("postgres.js's sql", 'Give the `sql` that `sql.begin(async (sql) => …)` hands over.')
  }
  if (isPg(tx) && 'totalCount' in tx && 'idleCount' in tx) {
    throw poolGiven('pg.Pool', 'Give the client of `await pool.connect()`, after `BEGIN`.')
  }
  return run
}

function isPostgresJs(db: unknown): db is FencePostgresJsLike {
  return typeof db === 'function' && 'unsafe' in db && typeof db.unsafe === 'function'
}

function isPg(db: unknown): db is FencePgLike {
  return typeof db === 'object' && db !== null && 'query' in db && typeof db.query === 'function'
}

/** A text as a literal, whatever `standard_conforming_strings` says. */
export function literal(text: string | null): string {
  return text === null ? 'NULL::text' : `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

/** SQLSTATE of a driver's error; an empty string when it has none. */
export function sqlState(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : ''
}
