import { InvalidArgumentError } from '../errors.ts'
import { FenceColumn, checkRow, unreadableResult } from './fence-column.ts'
import type { FenceColumnOptions, GuardedOutcome, GuardedRow } from './fence-column.ts'
import type { FenceSource } from './fence-source.ts'
import { checkGuardOptions, checkWrite } from './guard-options.ts'
import type { CheckedWrite, FenceCheckOptions, FenceGuardOptions } from './guard-options.ts'
import { noRegistry, outsideTransaction, refusal } from './refusals.ts'

/** What a guard uses of a database: better-sqlite3's `Database`, or `node:sqlite`'s. */
export interface SqliteDatabaseLike {
  /** better-sqlite3. */
  readonly inTransaction?: boolean
  /** node:sqlite. */
  readonly isTransaction?: boolean
  prepare(sql: string): SqliteStatementLike
  exec(sql: string): unknown
}

/** What is used of a prepared statement. */
export interface SqliteStatementLike {
  // The drivers name the types of all parameters that they can bind.
  run(...parameters: never[]): unknown
  get(...parameters: never[]): unknown
}

/**
 * What refuses a stale holder's writes at a resource in SQLite. Made by {@link sqliteFence}. Its methods do their work before they return and
 * throw what is wrong, since a transaction of better-sqlite3 is one synchronous function.
 */
export interface SqliteFence {
  /** The statement that makes the registry, for your own migrations. */
  readonly schema: string
  /**
   * Makes the registry where it is missing. May be called by several processes at once, and again.
   *
   * @throws StoreRefusedError when another table has its name
   */
  migrate(db: SqliteDatabaseLike): void
  /**
   * Accepts a fence for a resource, inside your transaction, before you write to it: one that is not lower than the last
   * accepted. One statement; a second one only to tell why it was refused. It takes the write lock of the file if the
   * transaction has it not yet.
   *
   * @throws StaleFenceError when the resource has accepted a higher fence (with `once`: this one or a higher). InvalidArgumentError
   *   when there is no transaction, for a fence of a wrong type, or a fence of another lock than the resource's.
   *   StoreRefusedError when the registry is missing. Errors of SQLite come as they are
   */
  check(db: SqliteDatabaseLike, resource: string, fence: FenceSource, options?: FenceCheckOptions): void
  /**
   * Lets the resource refuse every fence below this one from now on, as after `hf.forceRelease`. Never lowers what it accepted. One statement;
   * works inside a transaction and without.
   *
   * @throws as `check`, but never StaleFenceError
   */
  raise(
    db: SqliteDatabaseLike,
    resource: string,
    fence: FenceSource,
    options?: Pick<FenceCheckOptions, 'lock'>,
  ): void
  /**
   * The parts of your own UPDATE that guard a row by a column of its own. No statement at all: the UPDATE itself compares and
   * writes in one step, with a transaction or without.
   *
   * @throws InvalidArgumentError that names option, value and remedy
   */
  column(fence: FenceSource, options?: FenceColumnOptions): SqliteFenceColumn
}

/** The parts of an UPDATE. */
export interface SqliteFenceColumn {
  /** For SET: `fence = 1764000000000000`. */
  readonly set: string
  /** For WHERE: `fence <= 1764000000000000`. */
  readonly where: string
  /** The fence, for the placeholder. */
  readonly value: bigint
  /**
   * Tells what became of the UPDATE. One statement when it changed no row, else none.
   *
   * @param result what the driver gave for the UPDATE, or the number of rows it changed
   * @throws StaleFenceError when the row has accepted a higher fence; InvalidArgumentError when its column is NULL
   */
  outcome(db: SqliteDatabaseLike, result: unknown, row: GuardedRow): GuardedOutcome
}

/**
 * A guard for resources in SQLite, over databases of better-sqlite3 and `node:sqlite`. Touches no file.
 *
 * Promises: of two holders of one lock, the later one's writes are never followed by the earlier one's, whatever stops or delays
 * them, as long as every writer asks the guard, in the transaction that writes. Not promised: anything about what is written
 * without it, or outside of this file. Rows of the registry must never be deleted while a holder may still come.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function sqliteFence(options?: FenceGuardOptions): SqliteFence {
  return new SqliteGuard(checkGuardOptions(options, 'sqliteFence'))
}

type Run = (...parameters: unknown[]) => unknown

/** The statements of one database, prepared once. */
interface Prepared {
  readonly several: Run
  readonly once: Run
  readonly raise: Run
}

/** A fence whose lock is not known is compared all the same. */
const SAME_LOCK = '(lock_name = excluded.lock_name) IS NOT FALSE'

class SqliteGuard implements SqliteFence {
  readonly schema: string
  readonly #table: string
  readonly #prepared = new WeakMap<object, Prepared>()

  constructor(table: readonly string[]) {
    this.#table = table.map((part) => `"${part}"`).join('.')
    this.schema =
      `CREATE TABLE IF NOT EXISTS ${this.#table} (\n` +
      '  resource TEXT PRIMARY KEY NOT NULL,\n' +
      '  lock_name TEXT,\n' +
      '  fence INTEGER NOT NULL\n' +
      ') WITHOUT ROWID;'
  }

  migrate(db: SqliteDatabaseLike): void {
    checkDatabase(db)
    db.exec(this.schema)
    this.#asked(() => db.prepare(`SELECT resource, lock_name, fence FROM ${this.#table} LIMIT 0`))
  }

  check(db: SqliteDatabaseLike, resource: string, fence: FenceSource, options?: FenceCheckOptions): void {
    const write = checkWrite(resource, fence, options, 'check')
    checkDatabase(db)
    if (!inTransaction(db)) {
      throw outsideTransaction(
        'Call it inside `db.transaction(() => …).immediate()`, or after BEGIN IMMEDIATE.',
      )
    }
    const { once, several } = this.#statements(db)
    this.#accept(db, write.once ? once : several, write)
  }

  raise(
    db: SqliteDatabaseLike,
    resource: string,
    fence: FenceSource,
    options?: Pick<FenceCheckOptions, 'lock'>,
  ): void {
    const write = checkWrite(resource, fence, options, 'raise')
    checkDatabase(db)
    this.#accept(db, this.#statements(db).raise, write)
  }

  column(fence: FenceSource, options?: FenceColumnOptions): SqliteFenceColumn {
    return new SqliteColumn('sqlite', fence, options, (value) => value)
  }

  #accept(db: SqliteDatabaseLike, run: Run, write: CheckedWrite): void {
    const result = this.#asked(() => run(write.key, write.lock, write.fence))
    if (changedRows(result) === 0) throw this.#whyNot(db, write)
  }

  #whyNot(db: SqliteDatabaseLike, { key, ...write }: CheckedWrite): Error {
    const sql = `SELECT lock_name, CAST(fence AS TEXT) AS fence FROM ${this.#table} WHERE resource = ?`
    const row = statement(db, sql).get(key) as { lock_name: string | null; fence: string } | undefined
    const accepted = row === undefined ? null : { fence: BigInt(row.fence), lock: row.lock_name }
    return refusal('sqlite', { key, ...write }, accepted)
  }

  #statements(db: SqliteDatabaseLike): Prepared {
    const known = this.#prepared.get(db)
    if (known !== undefined) return known
    const prepared = this.#asked(() => ({
      several: this.#upsert(db, 'excluded.fence', `fence <= excluded.fence AND ${SAME_LOCK}`),
      once: this.#upsert(db, 'excluded.fence', `fence < excluded.fence AND ${SAME_LOCK}`),
      raise: this.#upsert(db, 'max(fence, excluded.fence)', SAME_LOCK),
    }))
    this.#prepared.set(db, prepared)
    return prepared
  }

  #upsert(db: SqliteDatabaseLike, next: string, fits: string): Run {
    return statement(
      db,
      `INSERT INTO ${this.#table} (resource, lock_name, fence) VALUES (?, ?, ?)
       ON CONFLICT (resource) DO UPDATE
       SET fence = ${next}, lock_name = coalesce(lock_name, excluded.lock_name)
       WHERE ${fits}`,
    ).run
  }

  #asked<T>(ask: () => T): T {
    try {
      return ask()
    } catch (error) {
      const message = error instanceof Error ? error.message : ''
      const missing = message.includes('no such table')
      if (!missing && !/no such column|has no column named|ON CONFLICT clause does not match/.test(message))
        throw error
      throw noRegistry(this.#table, this.schema, error, missing)
    }
  }
}

class SqliteColumn extends FenceColumn<bigint> implements SqliteFenceColumn {
  outcome(db: SqliteDatabaseLike, result: unknown, row: GuardedRow): GuardedOutcome {
    checkRow(row)
    if (changedRows(result) > 0) return 'written'
    checkDatabase(db)
    const found = statement(db, this.reading(row, 'TEXT')).get(...(row.values ?? []))
    return this.explain(row, (found as { fence: string | null } | undefined)?.fence)
  }
}

interface Statement {
  readonly run: Run
  readonly get: Run
}

function statement(db: SqliteDatabaseLike, sql: string): Statement {
  const prepared = db.prepare(sql)
  return {
    run: (...parameters) => prepared.run(...(parameters as never[])),
    get: (...parameters) => prepared.get(...(parameters as never[])),
  }
}

/** @throws InvalidArgumentError when the result does not tell */
function changedRows(result: unknown): number {
  const rows = typeof result === 'number' ? result : (Object(result) as { changes?: unknown }).changes
  if (typeof rows !== 'number' && typeof rows !== 'bigint') throw unreadableResult(result)
  return Number(rows)
}

function inTransaction({ inTransaction, isTransaction }: SqliteDatabaseLike): boolean {
  return inTransaction ?? isTransaction ?? false
}

/** @throws InvalidArgumentError for what is no database that we know */
function checkDatabase(db: unknown): asserts db is SqliteDatabaseLike {
  const given = Object(db) as Partial<Record<keyof SqliteDatabaseLike, unknown>>
  const tells = typeof given.inTransaction === 'boolean' || typeof given.isTransaction === 'boolean'
  if (tells && typeof given.prepare === 'function' && typeof given.exec === 'function') return
  throw new InvalidArgumentError('db', typeof db === 'object' ? (db?.constructor?.name ?? db) : db, {
    problem: 'is not a SQLite database that we know, or does not tell whether it is in a transaction',
    remedy: 'Give a Database of better-sqlite3, or a DatabaseSync of node:sqlite (from Node 24 on).',
  })
}
