import type { Decision } from './decision.ts'
import type { MadeDecision } from './made-decision.ts'
import { checkCost } from './options.ts'

/** A reservation's way to what it counted. */
export interface ReservationParts {
  readonly decision: MadeDecision
  /** Changes what it counts; `false` when it is over. */
  readonly change: (cost: number) => Promise<boolean>
}

/**
 * Capacity that was taken before its true cost is known: a budget of model tokens, the bytes of an upload. Settled once, at
 * what it came to; what nobody settles ends by itself, as `atEnd` says. Its functions may be taken out of it.
 */
export class Reservation {
  /** What the limiter decided. When it denied, there is nothing to settle. */
  readonly decision: Decision
  readonly #change: (cost: number) => Promise<boolean>
  #settled = false

  /** Made by `limiter.reserve()`. */
  constructor({ decision, change }: ReservationParts) {
    this.decision = decision
    this.#change = change
  }

  /**
   * Counts what it came to instead of what was reserved: gives back what is less, counts what is more (even beyond the limit,
   * for it has happened). The first call counts. A call that failed may be repeated, with another number as well. One round
   * trip; two after a call whose outcome is not known.
   *
   * @returns whether it was changed; false when it was denied or settled before, or its time in the window is over
   * @throws InvalidArgumentError, ClosedError, StoreUnavailableError, StoreRefusedError
   */
  readonly settle = async (actual: number): Promise<boolean> => {
    checkCost(actual, 'actual', 0)
    if (this.#settled) return false
    this.#settled = true
    try {
      return await this.#change(actual)
    } catch (error) {
      this.#settled = false
      throw error
    }
  }

  /** Gives all of it back, as `settle(0)` does. */
  readonly cancel = (): Promise<boolean> => this.settle(0)
}
