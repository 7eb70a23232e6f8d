import { FenceColumn, checkRow, unreadableResult } from './fence-column.ts'
import type { FenceColumnOptions, GuardedOutcome, GuardedRow } from './fence-column.ts'
import type { FenceSource } from './fence-source.ts'
import { checkGuardOptions, checkWrite } from './guard-options.ts'
import type { CheckedWrite, FenceCheckOptions, FenceGuardOptions } from './guard-options.ts'
import { literal, postgresRunner, postgresTransaction, sqlState } from './postgres-session.ts'
import type { PostgresDatabase, PostgresTransaction, RunPostgres } from './postgres-session.ts'
import { noRegistry, outsideTransaction, refusal } from './refusals.ts'

/** What refuses a stale holder's writes at a resource in Postgres. Made by {@link postgresFence}. */
export interface PostgresFence {
  /** The statement that makes the registry, for your own migrations. */
  readonly schema: string
  /**
   * Makes the registry where it is missing. May be called by several processes at once, and again.
   *
   * @throws StoreRefusedError when another table has its name
   */
  migrate(db: PostgresDatabase): Promise<void>
  /**
   * Accepts a fence for a resource, inside your transaction, before you write to it: one that is not lower than the last
   * accepted. What you write then is shut off from holders of a lower fence until you commit, and refused to them afterwards.
   * Whatever rolls back takes the acceptance along. One statement; a second one only to tell why it was refused.
   *
   * Waits while another transaction that accepted a fence for this resource has not ended, bounded by your `lock_timeout`.
   *
   * @throws StaleFenceError when the resource has accepted a higher fence (with `once`: this one or a higher). InvalidArgumentError
   *   when there is no transaction, for a pool, a fence of a wrong type, or a fence of another lock than the resource's.
   *   StoreRefusedError when the registry is missing. Errors of the database come as they are; 40001 and 40P01 mean: repeat
   *   the transaction
   */
  check(
    tx: PostgresTransaction,
    resource: string,
    fence: FenceSource,
    options?: FenceCheckOptions,
  ): Promise<void>
  /**
   * Lets the resource refuse every fence below this one from now on, as after `hf.forceRelease`. Never lowers what it accepted. One statement;
   * works inside a transaction and without.
   *
   * @throws as `check`, but never StaleFenceError
   */
  raise(
    tx: PostgresTransaction,
    resource: string,
    fence: FenceSource,
    options?: Pick<FenceCheckOptions, 'lock'>,
  ): Promise<void>
  /**
   * The parts of your own UPDATE that guard a row by a column of its own. No statement at all: the UPDATE itself compares and
   * writes in one step, with a transaction or without.
   *
   * @throws InvalidArgumentError that names option, value and remedy
   */
  column(fence: FenceSource, options?: FenceColumnOptions): PostgresFenceColumn
}

/** The parts of an UPDATE. */
export interface PostgresFenceColumn {
  /** For SET: `fence = 1764000000000000`. */
  readonly set: string
  /** For WHERE: `fence <= 1764000000000000`. */
  readonly where: string
  /** The fence in digits, for the placeholder. */
  readonly value: string
  /**
   * Tells what became of the UPDATE. One statement when it changed no row, else none.
   *
   * @param result what the driver gave for the UPDATE, or the number of rows it changed
   * @throws StaleFenceError when the row has accepted a higher fence; InvalidArgumentError when its column is NULL
   */
  outcome(tx: PostgresTransaction, result: unknown, row: GuardedRow): Promise<GuardedOutcome>
}

const NO_TABLE = '42P01'
const NO_COLUMN = '42703'
/** Two processes that make a table at once: one of them is told so, in one of these ways. */
const MADE_MEANWHILE = new Set(['42P07', '23505'])

/**
 * A guard for resources in Postgres, over clients of `pg` and `postgres` (postgres.js). Makes no round trip.
 *
 * Promises: of two holders of one lock, the later one's writes are never followed by the earlier one's, whatever stops or delays
 * them, as long as every writer asks the guard, in the transaction that writes. Not promised: anything about what is written
 * without it, or outside of this database. Rows of the registry must never be deleted while a holder may still come.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function postgresFence(options?: FenceGuardOptions): PostgresFence {
  return new PostgresGuard(checkGuardOptions(options, 'postgresFence'))
}

class PostgresGuard implements PostgresFence {
  readonly schema: string
  readonly #table: string

  constructor(table: readonly string[]) {
    this.#table = table.map((part) => `"${part}"`).join('.')
    this.schema =
      `CREATE TABLE IF NOT EXISTS ${this.#table} (\n` +
      '  resource text COLLATE "C" PRIMARY KEY,\n' +
      '  lock_name text COLLATE "C",\n' +
      '  fence bigint NOT NULL\n' +
      ');'
  }

  async migrate(db: PostgresDatabase): Promise<void> {
    const run = postgresRunner(db, 'db')
    try {
      await run(this.schema)
    } catch (error) {
      if (!MADE_MEANWHILE.has(sqlState(error))) throw error
    }
    await this.#asked(run, `SELECT resource, lock_name, fence FROM ${this.#table} LIMIT 0`)
  }

  async check(
    tx: PostgresTransaction,
    resource: string,
    fence: FenceSource,
    options?: FenceCheckOptions,
  ): Promise<void> {
    const write = checkWrite(resource, fence, options, 'check')
    const run = postgresTransaction(tx)
    // A statement that is its own transaction began when that began. Literals, since a statement with parameters comes in
    // several messages, each with a time of its own.
    const accepted = await this.#asked(
      run,
      `INSERT INTO ${this.#table} AS kept (resource, lock_name, fence)
       SELECT ${literal(write.key)}, ${literal(write.lock)}, ${write.fence} WHERE now() <> statement_timestamp()
       ON CONFLICT (resource) DO UPDATE
       SET fence = excluded.fence, lock_name = coalesce(kept.lock_name, excluded.lock_name)
       WHERE kept.fence ${write.once ? '<' : '<='} excluded.fence AND ${SAME_LOCK}
       RETURNING 1`,
    )
    if (accepted.length === 0) throw await this.#whyNot(run, write, true)
  }

  async raise(
    tx: PostgresTransaction,
    resource: string,
    fence: FenceSource,
    options?: Pick<FenceCheckOptions, 'lock'>,
  ): Promise<void> {
    const write = checkWrite(resource, fence, options, 'raise')
    const run = postgresRunner(tx, 'tx')
    const raised = await this.#asked(
      run,
      `INSERT INTO ${this.#table} AS kept (resource, lock_name, fence)
       VALUES (${literal(write.key)}, ${literal(write.lock)}, ${write.fence})
       ON CONFLICT (resource) DO UPDATE
       SET fence = greatest(kept.fence, excluded.fence), lock_name = coalesce(kept.lock_name, excluded.lock_name)
       WHERE ${SAME_LOCK}
       RETURNING 1`,
    )
    if (raised.length === 0) throw await this.#whyNot(run, write, false)
  }

  column(fence: FenceSource, options?: FenceColumnOptions): PostgresFenceColumn {
    return new PostgresColumn('postgres', fence, options, String)
  }

  async #whyNot(run: RunPostgres, write: CheckedWrite, inTransaction: boolean): Promise<Error> {
    const [row] = await run(
      `SELECT now() = statement_timestamp() AS alone, kept.lock_name, kept.fence::text AS fence
       FROM (SELECT 1) AS one LEFT JOIN ${this.#table} AS kept ON kept.resource = ${literal(write.key)}`,
    )
    const {
      alone,
      lock_name: lock,
      fence,
    } = row as { alone: boolean; lock_name: string | null; fence: string | null }
    if (inTransaction && alone) {
      return outsideTransaction(
        'Send BEGIN on this client first, or use `sql.begin(async (sql) => …)` of postgres.js.',
      )
    }
    return refusal('postgres', write, fence === null ? null : { fence: BigInt(fence), lock })
  }

  async #asked(run: RunPostgres, text: string): Promise<readonly unknown[]> {
    try {
      return await run(text)
    } catch (error) {
      const code = sqlState(error)
      if (code !== NO_TABLE && code !== NO_COLUMN) throw error
      throw noRegistry(this.#table, this.schema, error, code === NO_TABLE)
    }
  }
}

/** A fence whose lock is not known is compared all the same. */
const SAME_LOCK = '(kept.lock_name = excluded.lock_name) IS NOT FALSE'

class PostgresColumn extends FenceColumn<string> implements PostgresFenceColumn {
  async outcome(tx: PostgresTransaction, result: unknown, row: GuardedRow): Promise<GuardedOutcome> {
    checkRow(row)
    if (changedRows(result) > 0) return 'written'
    const run = postgresRunner(tx, 'tx')
    const [found] = await run(this.reading(row, 'text'), row.values ?? [])
    return this.explain(row, (found as { fence: string | null } | undefined)?.fence)
  }
}

/** @throws InvalidArgumentError when the result does not tell */
function changedRows(result: unknown): number {
  const { rowCount, count } = Object(result) as { rowCount?: unknown; count?: unknown }
  const rows = typeof result === 'number' ? result : (rowCount ?? count)
  if (typeof rows !== 'number') throw unreadableResult(result)
  return rows
}
