import type { Clock, Randomness, Timer } from '../clock.ts'
import { bounds } from '../defaults.ts'
import type { Keyed } from '../key-table.ts'
import type { Asked } from './commands.ts'
import type { Execution } from './execution.ts'

/**
 * What the calls of one key in this process share: at most one of them asks the store at a time, and at most one work runs. A
 * thousand calls cost as many commands as one.
 */
export class SharedKey implements Keyed {
  readonly key: string
  hash = 0
  callers = 0
  /** The work that runs for this key here. */
  running: Execution | null = null
  /** A question to the store under way. All calls hear its answer. */
  asking: Promise<Asked> | null = null
  readonly #clock: Clock
  readonly #randomness: Randomness
  #pause: Promise<void> | null = null
  #timer: Timer | null = null
  #step: number = bounds.firstRepeatPoll

  constructor(key: string, clock: Clock, randomness: Randomness) {
    this.key = key
    this.#clock = clock
    this.#randomness = randomness
  }

  /** Until it is time to ask again, for all who wait; longer each time, but not longer than `most` milliseconds. */
  pause(most: number): Promise<void> {
    return (this.#pause ??= new Promise((resolve) => {
      // Half of it by chance: processes that began together do not go on together.
      const ms = Math.min(most, this.#step * (1 + this.#randomness.fraction()) * 0.5)
      this.#step = Math.min(bounds.longestRepeatPoll, this.#step * 2)
      const end = (): void => {
        this.#pause = null
        this.#timer = null
        resolve()
      }
      this.#timer = this.#clock.setTimer(end, ms, { keepAlive: true })
    }))
  }

  /** Nobody is left. */
  rest(): void {
    this.#timer?.cancel()
    this.#timer = null
    this.#pause = null
  }
}
