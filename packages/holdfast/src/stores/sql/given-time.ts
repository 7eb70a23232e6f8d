import type { Clock, Timer } from '../../clock.ts'
import type { GiveUp } from './port.ts'

/** A call that nobody waits for any more when so much time is over. */
export class GivenTime implements GiveUp {
  readonly #timer: Timer
  #given = false
  #onGiven: (() => void) | null = null

  constructor(clock: Clock, ms: number) {
    this.#timer = clock.setTimer(() => {
      this.#given = true
      this.#onGiven?.()
    }, ms)
  }

  get given(): boolean {
    return this.#given
  }

  onGiven(run: () => void): void {
    this.#onGiven = run
  }

  /** It has ended before. */
  readonly end = (): void => this.#timer.cancel()
}
