import type { SqliteDatabase, SqliteStatement } from './database.ts'

/** Rows looked at, and removed when they are over, for each one that is written. */
const SWEPT_PER_WRITE = 3

/** Numbers come as bigint when the connection was set up so. */
type Numeric = number | bigint

interface Row {
  readonly key: string
  readonly value: string
  readonly expires_at: Numeric
}

/** A text, and when it is over: milliseconds since 1970. */
export interface ExpiringText {
  readonly value: string
  readonly expires: number
}

/** A table of rows that end by themselves. What was written in a transaction pays for looking at a few others, by their keys. */
export class ExpiringTable {
  readonly #get: SqliteStatement
  readonly #set: SqliteStatement
  readonly #drop: SqliteStatement
  readonly #after: SqliteStatement
  #written = 0
  #sweptTo = ''

  constructor(database: SqliteDatabase, table: string) {
    this.#get = database.prepare(`SELECT value, expires_at FROM ${table} WHERE key = ?`)
    this.#set = database.prepare(`INSERT INTO ${table} (key, value, expires_at) VALUES (?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`)
    this.#drop = database.prepare(`DELETE FROM ${table} WHERE key = ?`)
    this.#after = database.prepare(`SELECT key, expires_at FROM ${table} WHERE key > ? ORDER BY key LIMIT ?`)
  }

  begin(): void {
    this.#written = 0
  }

  /** `null` when there is none, or it is over. */
  get(key: string, now: number): ExpiringText | null {
    const row = this.#get.get(key) as Row | undefined
    if (row === undefined || Number(row.expires_at) <= now) return null
    return { value: row.value, expires: Number(row.expires_at) }
  }

  set(key: string, value: string, expires: number): void {
    this.#set.run(key, value, expires)
    this.#written += 1
  }

  drop(key: string): void {
    this.#drop.run(key)
  }

  /** Removes a few rows that are over, when anything was written. */
  sweep(now: number): void {
    if (this.#written === 0) return
    const count = this.#written * SWEPT_PER_WRITE
    const rows = this.#after.all(this.#sweptTo, count) as Row[]
    for (const { key, expires_at } of rows) if (Number(expires_at) <= now) this.drop(key)
    this.#sweptTo = rows.length < count ? '' : (rows.at(-1)?.key ?? '')
  }
}
