import { performance } from 'node:perf_hooks'

/** Calls back at a time of `performance.now()`; never early. One callback, one time; set again, it forgets the old. */
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
    this.#timer = setTimeout(() => this.#fire(), Math.max(0, due - performance.now()))
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #fire(): void {
    this.#timer = undefined
    if (performance.now() < this.#due) this.set(this.#due)
    else this.#ring()
  }
}
