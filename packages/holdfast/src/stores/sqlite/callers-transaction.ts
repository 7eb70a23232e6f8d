import { InvalidArgumentError } from '../../errors.ts'
import type { StoreFailure } from '../../store/failure.ts'
import type { TextRow } from '../sql/port.ts'
import type { OnceLook, SqlCallersTransaction } from '../sql/transactional-once.ts'
import { describeDatabase, isDatabase, type SqliteDatabase } from './database.ts'
import type { OpenFile } from './open-file.ts'
import { failureOf, isBusy } from './refusal.ts'
import { ensureSchema } from './schema.ts'
import { CLOCK } from './sqlite-tables.ts'

/** Rows come as bigint when the connection was set up so. */
interface Row {
  readonly value: string
  readonly expires_at: number | bigint
}

/**
 * A transaction of the caller's on a connection of his own to the store's file. SQLite has one writer at a time, so who got that has the turn of
 * every key, and what he reads is the newest there is.
 */
export class SqliteCallersTransaction implements SqlCallersTransaction {
  /** Once it is the one that writes. */
  stopsOthers = false
  readonly #database: SqliteDatabase

  /** @throws InvalidArgumentError when it is none, or in another file than the store's */
  constructor(transaction: unknown, file: OpenFile) {
    if (!isDatabase(transaction)) throw unfit(transaction, 'is not a database of better-sqlite3')
    this.#database = transaction
    this.#assertInside()
    if (!file.isOf(transaction))
      throw unfit(transaction, 'has another file open than the store, so that it could not commit both')
  }

  async look(key: string): Promise<OnceLook> {
    this.#assertInside()
    // Changes nothing, but makes the transaction the one that writes, should it have begun without IMMEDIATE.
    const turn = this.#becomeWriter()
    this.stopsOthers = turn
    const now = Number((this.#database.prepare(CLOCK).get() as { now: number | bigint }).now)
    // Another one writes. A look at the rows now would keep us from ever writing on top of what that one commits.
    if (!turn) return { now, row: null, turn }
    const row = this.#database.prepare('SELECT value, expires_at FROM holdfast_once WHERE key = ?').get(key)
    if (row === undefined) return { now, row: null, turn }
    const { value, expires_at } = row as Row
    return { now, row: { value, expires: Number(expires_at) }, turn }
  }

  async put(key: string, row: TextRow | null): Promise<boolean> {
    if (row === null) this.#database.prepare('DELETE FROM holdfast_once WHERE key = ?').run(key)
    else
      this.#database
        .prepare(
          `INSERT INTO holdfast_once (key, value, expires_at) VALUES (?, ?, ?)
          ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
        )
        .run(key, row.value, row.expires)
    return true
  }

  failureOf(error: unknown): StoreFailure {
    return failureOf(error, 'not-done')
  }

  #becomeWriter(): boolean {
    const write = (): void => void this.#database.prepare("DELETE FROM holdfast_once WHERE key = ''").run()
    try {
      write()
    } catch (error) {
      if (isBusy(error) && !isStale(error)) return false
      if (!isMissingTable(error)) throw error
      ensureSchema(this.#database)
      write()
    }
    return true
  }

  #assertInside(): void {
    if (!this.#database.open) throw unfit(this.#database, 'is closed')
    if (this.#database.inTransaction) return
    throw unfit(this.#database, 'is in no transaction: the record would be committed by itself')
  }
}

/** What this transaction has read is older than what another has committed meanwhile: it can never write. */
function isStale(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'SQLITE_BUSY_SNAPSHOT'
}

function isMissingTable(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('no such table')
}

function unfit(transaction: unknown, problem: string): InvalidArgumentError {
  return new InvalidArgumentError('transaction', describeDatabase(transaction), {
    problem,
    remedy: "Give a connection of your own to the store's file, after db.exec('BEGIN IMMEDIATE').",
  })
}
