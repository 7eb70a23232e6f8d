import type { LimitTables, Reply } from '../../store/limit/limit-rules.ts'
import { readSubject, writeSubject } from '../../store/limit/subject-text.ts'
import type { Subject } from '../../store/limit/subject.ts'
import type { SqliteDatabase } from './database.ts'
import { ExpiringTable } from './expiring-table.ts'

/**
 * The tables of limits, over prepared statements: a row of text for each subject, and one for each answer that may be asked
 * for again. To be used inside one transaction at a time, which begins with `begin` and ends with `sweep`.
 */
export class SqliteLimitTables implements LimitTables {
  now = 0
  readonly #subjects: ExpiringTable
  readonly #replies: ExpiringTable

  constructor(database: SqliteDatabase) {
    this.#subjects = new ExpiringTable(database, 'holdfast_limit')
    this.#replies = new ExpiringTable(database, 'holdfast_limit_reply')
  }

  begin(now: number): void {
    this.now = now
    this.#subjects.begin()
    this.#replies.begin()
  }

  subject(key: string): Subject | null {
    const row = this.#subjects.get(key, this.now)
    return row === null ? null : readSubject(row.value)
  }

  setSubject(key: string, subject: Subject, expires: number): void {
    this.#subjects.set(key, writeSubject(subject), expires)
  }

  dropSubject(key: string): void {
    this.#subjects.drop(key)
  }

  reply(id: string): Reply | null {
    const row = this.#replies.get(id, this.now)
    return row === null ? null : (JSON.parse(row.value) as Reply)
  }

  setReply(id: string, reply: Reply, expires: number): void {
    this.#replies.set(id, JSON.stringify(reply), expires)
  }

  /** Removes a few rows that are over, when anything was written. */
  sweep(): void {
    this.#subjects.sweep(this.now)
    this.#replies.sweep(this.now)
  }
}
