import type { Clock, Timer } from '../../clock.ts'
import type { OnceRecord } from '../../store/once/record.ts'
import type { OnceTables } from '../../store/once/once-rules.ts'
import { ExpiringMap } from './expiring-map.ts'

/** Entries looked at in one go: about a millisecond's work. */
const SWEPT_AT_ONCE = 5_000
/** Between two sweeps, in milliseconds. Records live for hours. */
const PAUSE = 60_000

/**
 * The records of a memory store. What is over is cleared away by writes, and when none come by a timer, which runs only while
 * there is anything.
 */
export class MemoryOnceTables implements OnceTables {
  now = 0
  readonly #clock: Clock
  readonly #readNow: () => number
  readonly #records = new ExpiringMap<OnceRecord>()
  #timer: Timer | null = null

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

  /** How many records are kept. */
  get size(): number {
    return this.#records.size
  }

  record(key: string): OnceRecord | null {
    return this.#records.get(key, this.now)
  }

  setRecord(key: string, record: OnceRecord): void {
    this.#records.set(key, record, record.expires, this.now)
    this.#timer ??= this.#clock.setTimer(() => this.#sweep(), PAUSE)
  }

  dropRecord(key: string): void {
    this.#records.delete(key)
  }

  /** Sets no timer any more until something is written. */
  rest(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #sweep(): void {
    const cleared = this.#records.sweep(SWEPT_AT_ONCE, this.#readNow())
    // When most of them are over, there are more of them behind.
    const pause = cleared > SWEPT_AT_ONCE / 2 ? 0 : PAUSE
    this.#timer = this.#records.size === 0 ? null : this.#clock.setTimer(() => this.#sweep(), pause)
  }
}
