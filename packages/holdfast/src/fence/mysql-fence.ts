import { FenceColumn, checkRow, unreadableResult } from './fence-column.ts'
import type { FenceColumnOptions, GuardedOutcome, GuardedRow } from './fence-column.ts'
import type { FenceSource } from './fence-source.ts'
import { checkGuardOptions, checkWrite } from './guard-options.ts'
import type { CheckedWrite, FenceCheckOptions, FenceGuardOptions } from './guard-options.ts'
import { mysqlErrno, mysqlRunner, mysqlTransaction } from './mysql-session.ts'
import type { MysqlDatabase, MysqlResult, MysqlTransaction, RunMysql } from './mysql-session.ts'
import { noRegistry, outsideTransaction, refusal } from './refusals.ts'

/** What refuses a stale holder's writes at a resource in MySQL or MariaDB. Made by {@link mysqlFence}. */
export interface MysqlFence {
  /** The statement that makes the registry, for your own migrations. */
  readonly schema: string
  /**
   * Makes the registry where it is missing. May be called by several processes at once, and again. Ends the transaction of a
   * connection that is in one, as every CREATE TABLE does.
   *
   * @throws StoreRefusedError when another table has its name
   */
  migrate(db: MysqlDatabase): Promise<void>
  /**
   * Accepts a fence for a resource, inside your transaction, before you write to it: one that is not lower than the last
   * accepted. What you write then is shut off from holders of a lower fence until you commit, and refused to them afterwards.
   * Whatever rolls back takes the acceptance along. One statement; a second one only to tell why it was refused.
   *
   * Waits while another transaction that accepted a fence for this resource has not ended, bounded by your
   * `innodb_lock_wait_timeout` (error 1205). After a refusal the session's LAST_INSERT_ID() is 1.
   *
   * @throws StaleFenceError when the resource has accepted a higher fence (with `once`: this one or a higher). InvalidArgumentError
   *   when there was no transaction (the fence is accepted then, but you write unguarded), for a pool, a fence of a wrong type,
   *   or a fence of another lock than the resource's. StoreRefusedError when the registry is missing. Errors of the database
   *   come as they are; 1213 means: repeat the transaction
   */
  check(
    tx: MysqlTransaction,
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
    tx: MysqlTransaction,
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
  column(fence: FenceSource, options?: FenceColumnOptions): MysqlFenceColumn
}

/** The parts of an UPDATE. */
export interface MysqlFenceColumn {
  /** For SET: `fence = 1764000000000000`. */
  readonly set: string
  /** For WHERE: `fence <= 1764000000000000`. Behind SET of the same column it sees the old value, as WHERE always does. */
  readonly where: string
  /** The fence in digits, for the placeholder. */
  readonly value: string
  /**
   * Tells what became of the UPDATE. One statement when it matched no row, else none. In a transaction it locks the row for reading, since
   * an older snapshot would hide the newer fence.
   *
   * @param result what mysql2 gave for the UPDATE, or the number of rows it matched
   * @throws StaleFenceError when the row has accepted a higher fence; InvalidArgumentError when its column is NULL
   */
  outcome(tx: MysqlTransaction, result: unknown, row: GuardedRow): Promise<GuardedOutcome>
}

const NO_TABLE = 1146
const NO_COLUMN = 1054
/** Of the status that the server sends with every answer: a transaction is open. */
const IN_TRANSACTION = 1

/**
 * A guard for resources in MySQL and MariaDB (InnoDB), over connections of `mysql2`. Makes no round trip.
 *
 * Promises: of two holders of one lock, the later one's writes are never followed by the earlier one's, whatever stops or delays
 * them, as long as every writer asks the guard, in the transaction that writes. Not promised: anything about what is written
 * without it, or outside of this database. Rows of the registry must never be deleted while a holder may still come.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function mysqlFence(options?: FenceGuardOptions): MysqlFence {
  return new MysqlGuard(checkGuardOptions(options, 'mysqlFence'))
}

class MysqlGuard implements MysqlFence {
  readonly schema: string
  readonly #table: string

  constructor(table: readonly string[]) {
    this.#table = table.map((part) => `\`${part}\``).join('.')
    // Bytes, since a text's collation may take two names for one.
    this.schema =
      `CREATE TABLE IF NOT EXISTS ${this.#table} (\n` +
      '  resource VARBINARY(512) NOT NULL PRIMARY KEY,\n' +
      '  lock_name VARBINARY(512) NULL,\n' +
      '  fence BIGINT NOT NULL\n' +
      ') ENGINE=InnoDB;'
  }

  async migrate(db: MysqlDatabase): Promise<void> {
    const run = mysqlRunner(db, 'db')
    await run(this.schema)
    await this.#asked(run, `SELECT resource, lock_name, fence FROM ${this.#table} LIMIT 0`, [])
  }

  async check(
    tx: MysqlTransaction,
    resource: string,
    fence: FenceSource,
    options?: FenceCheckOptions,
  ): Promise<void> {
    const write = checkWrite(resource, fence, options, 'check')
    const run = mysqlTransaction(tx)
    const fits = `fence ${write.once ? '<' : '<='} VALUES(fence)`
    const { insertId, serverStatus } = await this.#insert(run, write, fits, 'VALUES(fence)')
    if (insertId === REFUSED) throw await this.#whyNot(run, write)
    if (serverStatus !== undefined && (serverStatus & IN_TRANSACTION) === 0) {
      throw outsideTransaction('Call `await connection.beginTransaction()` on this connection first.')
    }
  }

  async raise(
    tx: MysqlTransaction,
    resource: string,
    fence: FenceSource,
    options?: Pick<FenceCheckOptions, 'lock'>,
  ): Promise<void> {
    const write = checkWrite(resource, fence, options, 'raise')
    const run = mysqlRunner(tx, 'tx')
    const { insertId } = await this.#insert(run, write, 'TRUE', 'GREATEST(fence, VALUES(fence))')
    if (insertId === REFUSED) throw await this.#whyNot(run, write)
  }

  column(fence: FenceSource, options?: FenceColumnOptions): MysqlFenceColumn {
    return new MysqlColumn('mysql', fence, options, String)
  }

  /**
   * The number of changed rows means different things with different settings of the driver. What is told instead is the insert
   * id, which this table has none of: only a refusal sets it.
   */
  #insert(
    run: RunMysql,
    { key, lock, fence }: CheckedWrite,
    fits: string,
    next: string,
  ): Promise<MysqlResult> {
    return this.#asked(
      run,
      `INSERT INTO ${this.#table} (resource, lock_name, fence) VALUES (?, ?, CAST(? AS SIGNED))
       ON DUPLICATE KEY UPDATE
       lock_name = IF(${fits}, COALESCE(lock_name, VALUES(lock_name)), lock_name),
       fence = IF(${fits} AND COALESCE(lock_name = VALUES(lock_name), TRUE), ${next},
         fence + 0 * LAST_INSERT_ID(${REFUSED}))`,
      [key, lock, String(fence)],
    )
  }

  async #whyNot(run: RunMysql, write: CheckedWrite): Promise<Error> {
    const [row] = await run(
      `SELECT CONVERT(lock_name USING utf8mb4) AS lock_name, CAST(fence AS CHAR) AS fence
       FROM ${this.#table} WHERE resource = ? LOCK IN SHARE MODE`,
      [write.key],
    )
    const found = row as { lock_name: string | null; fence: string } | undefined
    return refusal(
      'mysql',
      write,
      found === undefined ? null : { fence: BigInt(found.fence), lock: found.lock_name },
    )
  }

  async #asked(run: RunMysql, sql: string, values: readonly unknown[]): Promise<MysqlResult> {
    try {
      return await run(sql, values)
    } catch (error) {
      const errno = mysqlErrno(error)
      if (errno !== NO_TABLE && errno !== NO_COLUMN) throw error
      throw noRegistry(this.#table, this.schema, error, errno === NO_TABLE)
    }
  }
}

const REFUSED = 1

class MysqlColumn extends FenceColumn<string> implements MysqlFenceColumn {
  async outcome(tx: MysqlTransaction, result: unknown, row: GuardedRow): Promise<GuardedOutcome> {
    checkRow(row)
    if (matchedRows(result) > 0) return 'written'
    const run = mysqlRunner(tx, 'tx')
    const [found] = await run(this.reading(row, 'CHAR', ' LOCK IN SHARE MODE'), row.values ?? [])
    return this.explain(row, (found as { fence: string | null } | undefined)?.fence)
  }
}

/**
 * Rows that the UPDATE matched. Without the driver's flag FOUND_ROWS its number leaves out those that had these values already.
 *
 * @throws InvalidArgumentError when the result does not tell
 */
function matchedRows(result: unknown): number {
  if (typeof result === 'number') return result
  const header = (Array.isArray(result) ? result[0] : result) as Partial<MysqlResult> | null | undefined
  const matched = /Rows matched: (\d+)/.exec(header?.info ?? '')?.[1]
  if (matched !== undefined) return Number(matched)
  if (typeof header?.affectedRows !== 'number') throw unreadableResult(result)
  return header.affectedRows
}
