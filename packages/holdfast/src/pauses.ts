import type { Clock } from './clock.ts'
import { bounds } from './defaults.ts'

/** The pauses of what goes on in the background. The process does not stay alive for them. */
export class Pauses {
  readonly #clock: Clock
  readonly #ends = new Set<() => void>()
  #longest = Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Lets so many milliseconds pass, or fewer when there is hurry. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel()
        this.#ends.delete(end)
        resolve()
      }
      const timer = this.#clock.setTimer(end, Math.min(ms, this.#longest))
      this.#ends.add(end)
    })
  }

  /** Everything is being closed: ends the pauses that there are, and those to come are short. */
  hurry(): void {
    this.#longest = bounds.pauseBetweenTries
    for (const end of [...this.#ends]) end()
  }
}
