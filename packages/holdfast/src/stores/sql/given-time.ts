import type { Clock, Timer } from '../../clock.ts'
import type { GiveUp } from './port.ts'

/** Asks something that nobody waits for any more when so many milliseconds are over. */
export function inGivenTime<T>(clock: Clock, ms: number, ask: (giveUp: GiveUp) => Promise<T>): Promise<T> {
  const time = new GivenTime(clock, ms)
  return ask(time).finally(() => time.end())
}

class GivenTime implements GiveUp {
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
  end(): void {
    this.#timer.cancel()
  }
}
