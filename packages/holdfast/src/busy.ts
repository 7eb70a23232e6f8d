import { notBefore, type Clock } from './clock.ts'

/** Counts what is under way, for those who wait until nothing is. */
export class Busy {
  readonly #clock: Clock
  #count = 0
  #whenIdle: (() => void) | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Something began. */
  begin(): void {
    this.#count += 1
  }

  /** It ended. */
  ended(): void {
    this.#count -= 1
    if (this.#count === 0) this.#whenIdle?.()
  }

  /**
   * Resolves when nothing is under way, or at `end`. What ends may lead to something new in the same turn of the event loop, which is
   * waited for, too.
   *
   * @param end monotonic milliseconds
   */
  async idle(end: number): Promise<void> {
    let over = false
    let wake = (): void => undefined
    const timer = notBefore(this.#clock, end, () => {
      over = true
      wake()
    })
    while (this.#count > 0 && !over) {
      await new Promise<void>((resolve) => {
        wake = resolve
        this.#whenIdle = resolve
      })
      await new Promise<void>((resolve) => this.#clock.endOfTurn(resolve))
    }
    timer.cancel()
  }
}
