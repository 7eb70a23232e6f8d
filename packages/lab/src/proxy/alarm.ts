import { performance } from 'node:perf_hooks'

/**
 * Calls back at a time of `performance.now()`: never early, and late by a part of a millisecond. One callback, one
 * time: the earliest that was set.
 */
export class Alarm {
  readonly #ring: () => void
  #timer: NodeJS.Timeout | undefined
  #due = 0

  constructor(ring: () => void) {
    this.#ring = ring
  }

  /** Sets it, unless it already rings by then. */
  set(due: number): void {
    if (this.#timer !== undefined && this.#due <= due) return
    this.clear()
    this.#due = due
    // Node's timers count from the start of the loop's turn, in whole milliseconds, and may come early.
    this.#timer = setTimeout(() => this.#check(), Math.max(1, Math.ceil(due - performance.now())))
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #check(): void {
    this.#timer = undefined
    if (performance.now() < this.#due) this.set(this.#due)
    else this.#ring()
  }
}
