import { randomUUID } from 'node:crypto'
import { SqliteCallersTransaction } from './callers-transaction.ts'
import { checkUsable, type SqliteDatabase, type SqliteStatement } from './database.ts'
import { OpenFile } from './open-file.ts'
import { fileGone } from './refusal.ts'
import { ensureSchema } from './schema.ts'
import { SqliteTables } from './sqlite-tables.ts'

interface Prepared {
  readonly tables: SqliteTables
  readonly begin: SqliteStatement
  readonly commit: SqliteStatement
}

/**
 * A connection set up for us: its settings, our tables, the prepared statements. Set up at first use, and again after an
 * error that may have come from a change of the tables.
 */
export class SqliteSession {
  readonly #database: SqliteDatabase
  readonly #file: OpenFile
  #prepared: Prepared | null = null

  constructor(database: SqliteDatabase) {
    this.#database = database
    this.#file = new OpenFile(database)
  }

  /** Which file it is; of databases without one each is the only one of its connection. */
  get identity(): string {
    return this.#file.identity ?? nameOf(this.#database)
  }

  /** @throws InvalidArgumentError when it is no transaction in the same file */
  within(transaction: unknown): SqliteCallersTransaction {
    return new SqliteCallersTransaction(transaction, this.#file)
  }

  /**
   * Begins a transaction that may write. When this throws, nothing was begun.
   *
   * @throws InvalidArgumentError when the connection is closed or in another's transaction; StoreFailure when its file was
   *   deleted or replaced
   */
  begin(): SqliteTables {
    checkUsable(this.#database)
    if (this.#file.isGone()) throw fileGone()
    const { begin, tables } = (this.#prepared ??= this.#setUp())
    begin.run()
    return tables
  }

  commit(): void {
    this.#prepared?.commit.run()
  }

  /** Ends the transaction without its changes. Tells whether there was one to end: else its end is not known. */
  rollback(): boolean {
    if (!this.#database.inTransaction) return false
    try {
      this.#database.exec('ROLLBACK')
      return true
    } catch {
      // What was not committed does not come back, whatever the rollback said.
      return !this.#database.inTransaction
    }
  }

  /** Sets everything up anew at the next use. */
  forget(): void {
    this.#prepared = null
  }

  #setUp(): Prepared {
    // The driver would block the event loop for as long as it waits: waiting is ours.
    this.#database.exec('PRAGMA busy_timeout = 0')
    // Readers and the writer do not stop each other. Where the file system has no WAL, SQLite stays with what works there.
    this.#database.exec('PRAGMA journal_mode = WAL')
    // A power loss may take the last commits along, and with them every process that relied on them.
    this.#database.exec('PRAGMA synchronous = NORMAL')
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      ensureSchema(this.#database)
      this.#database.exec('COMMIT')
    } catch (error) {
      this.rollback()
      throw error
    }
    return {
      tables: new SqliteTables(this.#database),
      begin: this.#database.prepare('BEGIN IMMEDIATE'),
      commit: this.#database.prepare('COMMIT'),
    }
  }
}

const names = new WeakMap<SqliteDatabase, string>()

function nameOf(database: SqliteDatabase): string {
  const name = names.get(database) ?? randomUUID()
  names.set(database, name)
  return name
}
