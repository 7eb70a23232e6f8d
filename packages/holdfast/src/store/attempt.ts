import type { Instant } from '../clock.ts'

/**
 * One try of an operation: what its caller demands of it, and what the store notes about it. Both sides write here because
 * a try that is never answered must still be known: when it was sent, and until when the server may act on it.
 */
export class Attempt {
  /** Monotonic milliseconds. After this nobody waits for the answer any more. */
  readonly until: number
  /** Monotonic milliseconds. A call that grants or prolongs must do nothing after this. */
  readonly validUntil: number
  /** Monotonic milliseconds until which a call that counts may be asked again under its id; `null` where it never is. */
  readonly againUntil: number | null
  /** Set by the caller: an earlier try is still without an answer. What refused it may be unheard. */
  afterSilence = false
  /** Set by the caller: do not send this (again). */
  abandoned = false
  /** Set by the store when it hands the request to the client: `null` while nothing was sent. */
  sent: Instant | null = null
  /** Set by the store with `sent`: `validUntil` in the server's own milliseconds; `null` for calls that carry none. */
  notAfter: number | null = null

  constructor(until: number, validUntil: number, againUntil: number | null = null) {
    this.until = until
    this.validUntil = validUntil
    this.againUntil = againUntil
  }
}

/** For how many milliseconds from `now` (monotonic) a store keeps the answer of a call that counts, in case it is asked again. */
export function rememberFor({ until, againUntil }: Attempt, now: number): number {
  return Math.max(0, Math.ceil(2 * (until - now)), Math.ceil((againUntil ?? now) - now))
}
