import type { LockLostError } from '../errors.ts'

/**
 * An `AbortSignal` whose `aborted`, `reason` and `throwIfAborted` are right on the very line on which they are read: they
 * compute the loss first, so that a blocked event loop, whose timers are late, is told the truth.
 */
export class LossSignal {
  readonly #controller = new AbortController()

  /** @param check tells the loss if there is one, by calling {@link abort} */
  constructor(check: () => void) {
    const { signal } = this.#controller
    const prototype = Object.getPrototypeOf(signal) as AbortSignal
    const getter = (name: 'aborted' | 'reason') => (): unknown => {
      check()
      return Reflect.get(prototype, name, signal)
    }
    Object.defineProperties(signal, {
      aborted: { get: getter('aborted'), configurable: true },
      reason: { get: getter('reason'), configurable: true },
      throwIfAborted: {
        value: () => {
          if (signal.aborted) throw signal.reason
        },
        configurable: true,
      },
    })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: LockLostError): void {
    this.#controller.abort(reason)
  }
}
