import { NO_PLACE } from '../bag.ts'
import type { Timer } from '../clock.ts'
import { ClosedError } from '../errors.ts'
import type { Closing, OnceEngine } from './once-engine.ts'

/** The waiting of one call: it ends by the caller's signal, when everything is closed, or at its own time. */
export class CallWait implements Closing {
  place = NO_PLACE
  readonly #engine: OnceEngine
  readonly #unhook: () => void
  #interruption: { readonly reason: unknown } | null = null
  #reject: ((reason: unknown) => void) | null = null

  constructor(engine: OnceEngine, signal: AbortSignal | null) {
    this.#engine = engine
    this.#unhook =
      signal === null ? () => undefined : engine.aborts.add(signal, () => this.#interrupt(signal.reason))
    engine.add(this)
  }

  /** Whether the caller has gone. */
  get interrupted(): boolean {
    return this.#interruption !== null
  }

  /**
   * What a promise comes to, or `null` when `until` (monotonic milliseconds) came first.
   *
   * @throws the signal's reason, or ClosedError
   */
  for<T>(promise: Promise<T>, until = Infinity): Promise<T | null> {
    if (until < Infinity) return this.#forSoLong(promise, until)
    return new Promise((resolve, reject) => {
      if (this.#interruption !== null) return reject(this.#interruption.reason)
      // What comes after the first of them changes nothing.
      this.#reject = reject
      promise.then(resolve, reject)
    })
  }

  async #forSoLong<T>(promise: Promise<T>, until: number): Promise<T | null> {
    const { clock } = this.#engine
    let timer: Timer | undefined
    const over = new Promise<null>((resolve) => {
      const ms = Math.max(0, until - clock.monotonic())
      timer = clock.setTimer(() => resolve(null), ms, { keepAlive: true })
    })
    try {
      return await this.for(Promise.race([promise, over]))
    } finally {
      timer?.cancel()
    }
  }

  close(): void {
    this.#interrupt(new ClosedError())
  }

  /** From now on nothing interrupts. */
  end(): void {
    this.#unhook()
    this.#engine.remove(this)
  }

  #interrupt(reason: unknown): void {
    this.end()
    this.#interruption = { reason }
    this.#reject?.(reason)
  }
}
