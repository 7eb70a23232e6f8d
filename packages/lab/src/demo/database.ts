import Database from 'better-sqlite3'

/** Opens a SQLite file the way a service would: WAL, and a write waits a little for another's. */
export function openDatabase(file: string): Database.Database {
  const database = new Database(file, { timeout: 5_000 })
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = NORMAL')
  return database
}

/** A write came from a holder of the lock after a later holder had been there. Nothing was changed. */
export class StaleWriteError extends Error {}
