import { InvalidArgumentError } from '../errors.ts'
import { poolGiven } from './refusals.ts'

/** What a guard uses of a connection of mysql2: of `mysql2/promise`, or the one with callbacks. */
export interface FenceMysqlLike {
  query(sql: string, values?: unknown): unknown
}

/** Where a guard of MySQL and MariaDB works: inside a transaction of the caller's. */
export type MysqlTransaction = FenceMysqlLike

/** Where the registry can be made: also a pool. */
export type MysqlDatabase = FenceMysqlLike

/** Rows of a SELECT, or what mysql2 tells of a change. */
export type MysqlResult = readonly Readonly<Record<string, unknown>>[] & {
  readonly affectedRows?: number
  readonly insertId?: number
  readonly info?: string
  readonly serverStatus?: number
}

export type RunMysql = (sql: string, values?: readonly unknown[]) => Promise<MysqlResult>

/** @throws InvalidArgumentError for what is no connection that we know */
export function mysqlRunner(db: unknown, option: 'db' | 'tx'): RunMysql {
  const connection = promised(db, option)
  return async (sql, values = []) => {
    const [result] = (await connection.query(sql, [...values])) as [MysqlResult, unknown]
    return result
  }
}

/**
 * The same for a transaction.
 *
 * @throws InvalidArgumentError also for a pool, each of whose calls may go over another connection
 */
export function mysqlTransaction(tx: unknown): RunMysql {
  const run = mysqlRunner(tx, 'tx')
  if ('getConnection' in (tx as object)) {
    throw poolGiven(
      'a pool of mysql2',
      'Give the connection of `await pool.getConnection()`, after `beginTransaction()`.',
    )
  }
  return run
}

/** The flavour with callbacks has the other one beside it. */
function promised(db: unknown, option: 'db' | 'tx'): FenceMysqlLike {
  const given = db as Partial<Record<'query' | 'promise', unknown>> | null
  if (typeof given === 'object' && given !== null && typeof given.query === 'function') {
    return typeof given.promise === 'function'
      ? (given.promise as () => FenceMysqlLike).call(given)
      : (given as FenceMysqlLike)
  }
  throw new InvalidArgumentError(option, typeof db === 'object' ? (db?.constructor?.name ?? db) : db, {
    problem: 'is not a connection of MySQL or MariaDB that we know',
    remedy: 'Give a connection of mysql2, after `beginTransaction()`.',
  })
}

/** The server's number of a driver's error; 0 when it has none. */
export function mysqlErrno(error: unknown): number {
  const errno = (error as { errno?: unknown } | null | undefined)?.errno
  return typeof errno === 'number' ? errno : 0
}
