import type { LimitTables, Reply } from '../../store/limit/limit-rules.ts'
import { readSubject, writeSubject } from '../../store/limit/subject-text.ts'
import type { Subject } from '../../store/limit/subject.ts'
import type { OnceTables } from '../../store/once/once-rules.ts'
import { readRecord, writeRecord } from '../../store/once/record-text.ts'
import type { OnceRecord } from '../../store/once/record.ts'
import type { SqlSpace } from './space.ts'

/** The tables of limits within a transaction. */
export class SqlLimitTables implements LimitTables {
  readonly now: number
  readonly #space: SqlSpace

  constructor(space: SqlSpace) {
    this.now = space.now
    this.#space = space
  }

  subject(key: string): Subject | null {
    const row = this.#space.text(key)
    return row === null ? null : readSubject(row.value)
  }

  setSubject(key: string, subject: Subject, expires: number): void {
    this.#space.setText(key, { value: writeSubject(subject), expires })
  }

  dropSubject(key: string): void {
    this.#space.setText(key, null)
  }

  reply(id: string): Reply | null {
    const row = this.#space.reply(id)
    return row === null ? null : (JSON.parse(row.value) as Reply)
  }

  setReply(id: string, reply: Reply, expires: number): void {
    this.#space.setReply(id, { value: JSON.stringify(reply), expires })
  }
}

/** The table of what runs once within a transaction. */
export class SqlOnceTables implements OnceTables {
  readonly now: number
  readonly #space: SqlSpace

  constructor(space: SqlSpace) {
    this.now = space.now
    this.#space = space
  }

  record(key: string): OnceRecord | null {
    const row = this.#space.text(key)
    return row === null ? null : readRecord(row.value, row.expires)
  }

  setRecord(key: string, record: OnceRecord): void {
    this.#space.setText(key, { value: writeRecord(record), expires: record.expires })
  }

  dropRecord(key: string): void {
    this.#space.setText(key, null)
  }
}
