/** What the processes of a test have in common. */
export const PREFIX = 'processes:v1'
export const LIMITER = 'one limiter for all'
/** Far longer than a test. */
const LONG = 300 * 86_400_000

/** A policy of each kind. */
export function policies(limit: number) {
  return [
    { kind: 'fixed-window', name: 'p', limit, per: LONG },
    { kind: 'sliding-window', name: 'p', limit, per: LONG },
    { kind: 'sliding-counter', name: 'p', limit, per: LONG },
    { kind: 'token-bucket', name: 'p', capacity: limit, refill: limit, per: LONG },
    { kind: 'leaky-bucket', name: 'p', capacity: limit, rate: limit, per: LONG },
    { kind: 'concurrency', name: 'p', limit, lease: LONG },
  ] as const
}
