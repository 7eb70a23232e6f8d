import type { Clock } from '../../clock.ts'
import type { OnceRecord } from '../../store/once/record.ts'
import type { OnceTables } from '../../store/once/once-rules.ts'
import { ExpiringMap } from './expiring-map.ts'
import { Sweeping } from './sweeping.ts'

/** The records of a memory store. */
export class MemoryOnceTables implements OnceTables {
  now = 0
  readonly #readNow: () => number
  readonly #records = new ExpiringMap<OnceRecord>()
  readonly #sweeping: Sweeping

  /** @param readNow the store's clock, in whole milliseconds */
  constructor(clock: Clock, readNow: () => number) {
    this.#readNow = readNow
    this.#sweeping = new Sweeping(clock, readNow, [this.#records])
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
    this.#sweeping.later()
  }

  dropRecord(key: string): void {
    this.#records.delete(key)
  }

  /** Sets no timer any more until something is written. */
  rest(): void {
    this.#sweeping.rest()
  }
}
