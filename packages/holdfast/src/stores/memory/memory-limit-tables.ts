import type { Clock } from '../../clock.ts'
import type { LimitTables, Reply } from '../../store/limit/limit-rules.ts'
import type { Subject } from '../../store/limit/subject.ts'
import { ExpiringMap } from './expiring-map.ts'
import { Sweeping } from './sweeping.ts'

/** The subjects of a memory store, and the answers that may be asked for again. */
export class MemoryLimitTables implements LimitTables {
  now = 0
  readonly #readNow: () => number
  readonly #subjects = new ExpiringMap<Subject>()
  readonly #replies = new ExpiringMap<Reply>()
  readonly #sweeping: Sweeping

  /** @param readNow the store's clock, in whole milliseconds */
  constructor(clock: Clock, readNow: () => number) {
    this.#readNow = readNow
    this.#sweeping = new Sweeping(clock, readNow, [this.#subjects, this.#replies])
  }

  /** Reads the clock for the step that begins now. */
  begin(): this {
    this.now = this.#readNow()
    return this
  }

  /** What is kept, in entries. */
  get size(): { subjects: number; replies: number } {
    return { subjects: this.#subjects.size, replies: this.#replies.size }
  }

  subject(key: string): Subject | null {
    return this.#subjects.get(key, this.now)
  }

  setSubject(key: string, subject: Subject, expires: number): void {
    this.#subjects.set(key, subject, expires, this.now)
    this.#sweeping.later()
  }

  dropSubject(key: string): void {
    this.#subjects.delete(key)
  }

  reply(id: string): Reply | null {
    return this.#replies.get(id, this.now)
  }

  setReply(id: string, reply: Reply, expires: number): void {
    this.#replies.set(id, reply, expires, this.now)
    this.#sweeping.later()
  }

  /** Sets no timer any more until something is written. */
  rest(): void {
    this.#sweeping.rest()
  }
}
