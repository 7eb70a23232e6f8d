import type { Clock } from '../clock.ts'
import { bounds } from '../defaults.ts'
import type { Schedule, Scheduled } from '../schedule.ts'
import type { LockStore } from '../store/contract.ts'

/**
 * Tells the store whether its pushes are needed: at once for those who wait, and after a moment for those who hold, since
 * most holds are too short to be taken by force.
 */
export class Attention implements Scheduled {
  dueAt = 0
  readonly early = 0
  heapIndex = -1
  readonly #store: LockStore
  readonly #clock: Clock
  readonly #schedule: Schedule
  readonly #longestHeld: () => number
  #waiting = 0
  #held = 0

  /** @param longestHeld for how many milliseconds the oldest lease has been held; 0 when there is none */
  constructor(store: LockStore, clock: Clock, schedule: Schedule, longestHeld: () => number) {
    this.#store = store
    this.#clock = clock
    this.#schedule = schedule
    this.#longestHeld = longestHeld
  }

  /** So many locks more (or fewer) are waited for. */
  waits(change: 1 | -1): void {
    this.#waiting += change
    this.#attend()
  }

  /** A lease more (or less) is held. */
  holds(change: 1 | -1): void {
    this.#held += change
    this.#attend()
  }

  onDue(): void {
    const left = bounds.listenAfter - this.#longestHeld()
    if (left <= 0) this.#store.attend(true)
    else if (this.#held > 0) this.#schedule.put(this, this.#clock.monotonic() + left)
  }

  #attend(): void {
    if (this.#waiting > 0) this.#store.attend(true)
    else if (this.#held === 0) {
      this.#schedule.remove(this)
      this.#store.attend(false)
    } else if (this.heapIndex < 0) this.#schedule.put(this, this.#clock.monotonic() + bounds.listenAfter)
  }
}
