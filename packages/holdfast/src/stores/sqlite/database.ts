import { InvalidArgumentError } from '../../errors.ts'

/** What of a prepared statement is used. */
export interface SqliteStatement {
  run(...parameters: unknown[]): unknown
  get(...parameters: unknown[]): unknown
  all(...parameters: unknown[]): unknown[]
}

/** What of a database is used: better-sqlite3's `Database`, or one with its methods. */
export interface SqliteDatabase {
  readonly open: boolean
  readonly readonly: boolean
  readonly inTransaction: boolean
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
}

const FLAGS = ['open', 'readonly', 'inTransaction'] as const

/** Whether it has what is used of a database. */
export function isDatabase(database: unknown): database is SqliteDatabase {
  const given = database as Partial<Record<string, unknown>> | null | undefined
  return (
    typeof given === 'object' &&
    typeof given?.['prepare'] === 'function' &&
    typeof given['exec'] === 'function' &&
    FLAGS.every((flag) => typeof given[flag] === 'boolean')
  )
}

/**
 * Checks a database that was handed over.
 *
 * @throws InvalidArgumentError when it is not one, of a driver that is not supported, read-only, closed, or in a transaction
 */
export function checkDatabase(database: unknown): asserts database is SqliteDatabase {
  if (!isDatabase(database)) {
    const isNodeSqlite = typeof database === 'object' && database !== null && 'isTransaction' in database
    throw new InvalidArgumentError('database', describeDatabase(database), {
      problem: isNodeSqlite
        ? 'is of node:sqlite, which is not supported yet'
        : 'is not a SQLite database that we know',
      remedy: "Give an open Database of better-sqlite3, as `sqliteStore(new Database('locks.db'))`.",
    })
  }
  if (database.readonly) {
    throw new InvalidArgumentError('database', describeDatabase(database), {
      problem: 'is open for reading only',
      remedy: 'Open it without `readonly`.',
    })
  }
  checkUsable(database)
}

/**
 * Checks that a database can be worked with at this moment.
 *
 * @throws InvalidArgumentError when it is closed, or in a transaction of somebody else's
 */
export function checkUsable(database: SqliteDatabase): void {
  if (!database.open) {
    throw new InvalidArgumentError('database', describeDatabase(database), {
      problem: 'is closed',
      remedy: 'Close it after `close()` of the Holdfast instance.',
    })
  }
  if (database.inTransaction) {
    throw new InvalidArgumentError('database', describeDatabase(database), {
      problem: 'is inside a transaction of yours, and a lock that can be rolled back is none',
      remedy: 'Give the store a connection of its own to the same file.',
    })
  }
}

/** For messages: the file's name, and none of what else the object holds. */
export function describeDatabase(database: unknown): unknown {
  if (typeof database !== 'object' || database === null) return database
  const { name } = database as { name?: unknown }
  const kind = database.constructor?.name ?? 'Object'
  return typeof name === 'string' ? `${kind} ${name}` : kind
}
