import type { Clock, Timer } from '../../clock.ts'
import type { ExpiringMap } from './expiring-map.ts'

/** Entries looked at in one go: about a millisecond's work. */
const SWEPT_AT_ONCE = 5_000
/** When so large a part of them was over there are more of them: the sweep goes on at once. */
const MANY = 0.25
/** Pauses between sweeps, in milliseconds. They grow while nothing is over, so that an idle store costs next to nothing. */
const SHORTEST_PAUSE = 1_000
const LONGEST_PAUSE = 60_000

/** Clears away what is over when no writes come that would: by a single timer, which runs only while there is anything. */
export class Sweeping {
  readonly #clock: Clock
  readonly #readNow: () => number
  readonly #maps: readonly ExpiringMap<unknown>[]
  #timer: Timer | null = null
  #pause = SHORTEST_PAUSE

  /** @param readNow the store's clock, in whole milliseconds */
  constructor(clock: Clock, readNow: () => number, maps: readonly ExpiringMap<unknown>[]) {
    this.#clock = clock
    this.#readNow = readNow
    this.#maps = maps
  }

  /** Something was written. */
  later(): void {
    this.#timer ??= this.#clock.setTimer(() => this.#sweep(), this.#pause)
  }

  /** Sets no timer any more until something is written. */
  rest(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #sweep(): void {
    this.#timer = null
    const now = this.#readNow()
    let [cleared, left] = [0, 0]
    for (const map of this.#maps) {
      cleared += map.sweep(SWEPT_AT_ONCE, now)
      left += map.size
    }
    if (left === 0) {
      this.#pause = SHORTEST_PAUSE
      return
    }
    if (cleared > SWEPT_AT_ONCE * MANY) this.#pause = 0
    else if (cleared > 0) this.#pause = SHORTEST_PAUSE
    else this.#pause = Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, this.#pause * 2))
    this.later()
  }
}
