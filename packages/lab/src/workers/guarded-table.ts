/** A resource that refuses stale writers: a table in SQLite with a fence column, and a log of every write. */

import Database from 'better-sqlite3'
import { machineTime } from 'holdfast/testing'

/** A write as the resource decided it, in its own order. */
export interface LoggedWrite {
  readonly order: number
  readonly writer: string
  readonly fence: bigint
  readonly accepted: boolean
  /** Machine time when it was sent, and when it was decided. */
  readonly began: number
  readonly time: number
}

export class GuardedTable {
  readonly #database: Database.Database
  readonly #write: (writer: string, fence: bigint, began: number) => boolean

  constructor(path: string) {
    const database = new Database(path, { timeout: 10_000 })
    database.pragma('journal_mode = WAL')
    database.exec(`
      CREATE TABLE IF NOT EXISTS guarded (id INTEGER PRIMARY KEY CHECK (id = 1), fence INTEGER NOT NULL, writer TEXT);
      INSERT OR IGNORE INTO guarded VALUES (1, 0, NULL);
      CREATE TABLE IF NOT EXISTS writes (
        "order" INTEGER PRIMARY KEY AUTOINCREMENT,
        writer TEXT NOT NULL, fence INTEGER NOT NULL, accepted INTEGER NOT NULL, began REAL NOT NULL, time REAL NOT NULL
      )`)
    this.#database = database
    // The same grant may write again; a lower fence than the last accepted one is refused.
    const change = database.prepare(
      'UPDATE guarded SET fence = @fence, writer = @writer WHERE fence <= @fence',
    )
    const log = database.prepare(
      'INSERT INTO writes (writer, fence, accepted, began, time) VALUES (@writer, @fence, @accepted, @began, @time)',
    )
    const both = database.transaction((writer: string, fence: bigint, began: number) => {
      const accepted = change.run({ writer, fence }).changes === 1
      log.run({ writer, fence, accepted: accepted ? 1 : 0, began, time: machineTime() })
      return accepted
    })
    this.#write = (writer, fence, began) => both.immediate(writer, fence, began)
  }

  /** Writes with a fence; whether the resource took it. */
  write(writer: string, fence: bigint): boolean {
    return this.#write(writer, fence, machineTime())
  }

  /** Every write, in the order in which the resource decided. */
  writes(): LoggedWrite[] {
    const rows = this.#database.prepare('SELECT * FROM writes ORDER BY "order"').all() as {
      order: number
      writer: string
      fence: number
      accepted: number
      began: number
      time: number
    }[]
    return rows.map((row) => ({ ...row, fence: BigInt(row.fence), accepted: row.accepted === 1 }))
  }

  close(): void {
    this.#database.close()
  }
}
