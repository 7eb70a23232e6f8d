/** A fault that was ordered and happens when its moment comes. */
export interface Injection {
  /** How often it has happened. */
  readonly count: number
  /** Resolves when it has happened as often as ordered. Never rejects; waits for ever when that never happens. */
  readonly done: Promise<void>
  /** It will not happen any more. */
  cancel(): void
}

/** The working side of an Injection: counts what happens and tells when it is enough. */
export class InjectionCounter implements Injection {
  readonly done: Promise<void>
  readonly #times: number
  readonly #onCancel: () => void
  #resolveDone: () => void = () => {}
  #started = 0
  #count = 0

  constructor(times: number, onCancel: () => void) {
    this.#times = times
    this.#onCancel = onCancel
    this.done = new Promise((resolve) => (this.#resolveDone = resolve))
  }

  get count(): number {
    return this.#count
  }

  /** Claims one of the times that are left; false when none is. */
  start(): boolean {
    if (this.#started >= this.#times) return false
    this.#started++
    if (this.#started === this.#times) this.#onCancel()
    return true
  }

  /** One that was started has happened. */
  happened(): void {
    this.#count++
    if (this.#count === this.#times) this.#resolveDone()
  }

  cancel(): void {
    this.#started = this.#times
    this.#onCancel()
  }
}
