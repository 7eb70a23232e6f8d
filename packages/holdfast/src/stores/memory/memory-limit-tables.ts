import type { Clock, Timer } from '../../clock.ts'
import type { LimitTables, Reply } from '../../store/limit/limit-rules.ts'
import type { Subject } from '../../store/limit/subject.ts'
import { ExpiringMap } from './expiring-map.ts'

/** Entries looked at in one go: about a millisecond's work. */
const SWEPT_AT_ONCE = 5_000
/** When so large a part of them was over there are more of them: the sweep goes on at once. */
const MANY = 0.25
/** Pauses between sweeps, in milliseconds. They grow while nothing is over, so that an idle store costs next to nothing. */
const SHORTEST_PAUSE = 1_000
const LONGEST_PAUSE = 60_000

/**
 * The subjects of a memory store, and the answers that may be asked for again. What is over is cleared away by writes, and
 * when none come by a single timer for all, which runs only while there is anything.
 */
export class MemoryLimitTables implements LimitTables {
  now = 0
  readonly #clock: Clock
  readonly #readNow: () => number
  readonly #subjects = new ExpiringMap<Subject>()
  readonly #replies = new ExpiringMap<Reply>()
  #timer: Timer | null = null
  #pause = SHORTEST_PAUSE

  /** @param readNow the store's clock, in whole milliseconds */
  constructor(clock: Clock, readNow: () => number) {
    this.#clock = clock
    this.#readNow = readNow
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
    this.#sweepLater()
  }

  dropSubject(key: string): void {
    this.#subjects.delete(key)
  }

  reply(id: string): Reply | null {
    return this.#replies.get(id, this.now)
  }

  setReply(id: string, reply: Reply, expires: number): void {
    this.#replies.set(id, reply, expires, this.now)
    this.#sweepLater()
  }

  /** Sets no timer any more until something is written. */
  rest(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #sweepLater(): void {
    this.#timer ??= this.#clock.setTimer(() => this.#sweep(), this.#pause)
  }

  #sweep(): void {
    this.#timer = null
    const now = this.#readNow()
    const cleared = this.#subjects.sweep(SWEPT_AT_ONCE, now) + this.#replies.sweep(SWEPT_AT_ONCE, now)
    if (this.#subjects.size === 0 && this.#replies.size === 0) {
      this.#pause = SHORTEST_PAUSE
      return
    }
    if (cleared > SWEPT_AT_ONCE * MANY) this.#pause = 0
    else if (cleared > 0) this.#pause = SHORTEST_PAUSE
    else this.#pause = Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, this.#pause * 2))
    this.#sweepLater()
  }
}
