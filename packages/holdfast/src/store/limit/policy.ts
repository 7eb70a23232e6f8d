/**
 * One rule of a limiter, as plain data: what the store decides by. Made by `fixedWindow()`, `slidingWindow()` and so on,
 * which check every number; times are whole milliseconds.
 */
export type Policy = FixedWindow | SlidingWindow | SlidingCounter | TokenBucket | LeakyBucket | Concurrency

/** The kinds of policies. */
export type PolicyKind = Policy['kind']

interface Named {
  /** Tells the policies of one limiter apart, in decisions and headers. */
  readonly name: string
}

/** At most `limit` per window; windows begin at whole multiples of `per` since 1970. Twice the limit may pass around an edge. */
export interface FixedWindow extends Named {
  readonly kind: 'fixed-window'
  readonly limit: number
  readonly per: number
}

/** At most `limit` in any span of `per`: exact. An entry exactly `per` old no longer counts. */
export interface SlidingWindow extends Named {
  readonly kind: 'sliding-window'
  readonly limit: number
  readonly per: number
}

/** The window before, weighted by what of it still overlaps, and the present one. Approximate; two numbers per subject. */
export interface SlidingCounter extends Named {
  readonly kind: 'sliding-counter'
  readonly limit: number
  readonly per: number
}

/** Up to `capacity` at once; `refill` tokens flow in per `per`, continuously. */
export interface TokenBucket extends Named {
  readonly kind: 'token-bucket'
  readonly capacity: number
  readonly refill: number
  readonly per: number
}

/** Shapes: passes `rate` per `per`, one after the other; up to `capacity` may stand in line. A decision tells its delay. */
export interface LeakyBucket extends Named {
  readonly kind: 'leaky-bucket'
  readonly capacity: number
  readonly rate: number
  readonly per: number
}

/** At most `limit` at once. Each take is a slot, leased for `lease` and renewed while it is held. */
export interface Concurrency extends Named {
  readonly kind: 'concurrency'
  readonly limit: number
  readonly lease: number
}

/** The most that a policy ever admits at once: its limit or capacity. A cost above it never passes. */
export function capacityOf(policy: Policy): number {
  return policy.kind === 'token-bucket' || policy.kind === 'leaky-bucket' ? policy.capacity : policy.limit
}

/** The longest time for which a take can matter to a policy (a slot that is renewed apart), in milliseconds. */
export function spanOf(policy: Policy): number {
  switch (policy.kind) {
    case 'fixed-window':
    case 'sliding-window':
      return policy.per
    case 'sliding-counter':
      return 2 * policy.per
    case 'token-bucket':
      return Math.ceil((policy.capacity * policy.per) / policy.refill)
    case 'leaky-bucket':
      return Math.ceil((policy.capacity * policy.per) / policy.rate)
    case 'concurrency':
      return policy.lease
  }
}
