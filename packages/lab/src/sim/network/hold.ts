import type { Happening, Scheduler } from '../scheduler.ts'

/** Something stands still until a time, or until it is let go before. */
export class Hold {
  readonly #scheduler: Scheduler
  readonly #waiting = new Map<Happening, () => void>()
  #until = -Infinity

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
  }

  /** World time until which it lasts; long ago when there is none. */
  get until(): number {
    return this.#until
  }

  /** It lasts until then, if it did not for longer. */
  lengthen(until: number): void {
    this.#until = Math.max(this.#until, until)
  }

  /**
   * For something that happens now: puts it off to the end, while it lasts.
   *
   * @param again what to do in its place when it is let go before
   */
  putsOff(happening: Happening, again: () => void): boolean {
    this.#waiting.delete(happening)
    if (this.#scheduler.now >= this.#until) return false
    this.#waiting.set(happening, again)
    this.#scheduler.putOff(happening, this.#until)
    return true
  }

  /** It is over: what waited for its end happens now. */
  letGo(): void {
    this.#until = -Infinity
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const [happening, again] of waiting) {
      happening.cancelled = true
      again()
    }
  }
}
