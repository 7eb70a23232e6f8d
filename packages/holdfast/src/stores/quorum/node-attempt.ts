import type { Instant } from '../../clock.ts'
import type { Attempt } from '../../store/attempt.ts'

/** A try on one node, as a part of a try on all of them: it is abandoned together with that, or by itself. */
export class NodeAttempt implements Attempt {
  readonly until: number
  readonly validUntil: number
  /** Locks alone are kept by several nodes. */
  readonly againUntil = null
  afterSilence: boolean
  sent: Instant | null = null
  notAfter: number | null = null
  readonly #whole: Attempt | null
  #abandoned = false

  /** @param until monotonic milliseconds, for the answer and for whatever it grants */
  constructor(whole: Attempt | null, until: number) {
    this.#whole = whole
    this.afterSilence = whole?.afterSilence ?? false
    this.until = whole === null ? until : Math.min(until, whole.until)
    this.validUntil = whole === null ? until : Math.min(until, whole.validUntil)
  }

  get abandoned(): boolean {
    return this.#abandoned || this.#whole?.abandoned === true
  }

  set abandoned(abandoned: boolean) {
    this.#abandoned = abandoned
  }
}
