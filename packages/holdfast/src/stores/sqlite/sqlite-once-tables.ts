import type { OnceTables } from '../../store/once/once-rules.ts'
import { readRecord, writeRecord } from '../../store/once/record-text.ts'
import type { OnceRecord } from '../../store/once/record.ts'
import type { SqliteDatabase } from './database.ts'
import { ExpiringTable } from './expiring-table.ts'

/**
 * The table of what runs once: a row of text for each key. To be used inside one transaction at a time, which begins with
 * `begin` and ends with `sweep`.
 */
export class SqliteOnceTables implements OnceTables {
  now = 0
  readonly #records: ExpiringTable

  constructor(database: SqliteDatabase) {
    this.#records = new ExpiringTable(database, 'holdfast_once')
  }

  begin(now: number): void {
    this.now = now
    this.#records.begin()
  }

  record(key: string): OnceRecord | null {
    const row = this.#records.get(key, this.now)
    return row === null ? null : readRecord(row.value, row.expires)
  }

  setRecord(key: string, record: OnceRecord): void {
    this.#records.set(key, writeRecord(record), record.expires)
  }

  dropRecord(key: string): void {
    this.#records.drop(key)
  }

  /** Removes a few rows that are over, when anything was written. */
  sweep(): void {
    this.#records.sweep(this.now)
  }
}
