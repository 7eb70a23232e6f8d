/** Every default and bound of the library, each with the reason for it. Times are in milliseconds. */
export const defaults = {
  /** Starts every key. The version lets a later wire format live beside this one. */
  prefix: 'holdfast:v1',
  /** Short enough that a crash frees the lock soon, long enough to survive a slow server and a long pause. */
  ttl: 30_000,
  /** Waiting is always bounded; five seconds is about what a caller at the other end bears. */
  wait: 5_000,
  /** For one operation on the store, its repeats included: a store that is slower than this is down for its callers. */
  budget: 1_000,
  /** Grants that a lease gives within its process before others get the lock: enough to make the round trips vanish. */
  handOverGrants: 64,
  /** For how long it does so: not longer than a person notices. */
  handOverTime: 100,
  /** `interval()` and the base of `backoff()`: a person does not notice it, and a server hardly does. */
  retryInterval: 50,
  /** The longest pause of `backoff()`: as long as the poll of a waiter in the queue, and a fifth of the wait. */
  longestRetry: 1_000,
} as const

/** Bounds of what callers may set, and the constants of the protocols. Times are in milliseconds. */
export const bounds = {
  /** Below this a renewal cannot be told from the noise of timers. */
  minTtl: 10,
  /** Above a day a lease is a mistake: use renewal. */
  maxTtl: 86_400_000,
  maxWait: 86_400_000,
  maxHold: 86_400_000,
  minBudget: 30,
  maxBudget: 60_000,
  /** Tries per budget: one answer may be lost and one server may be slow, and there is still a third. */
  triesPerBudget: 3,
  /** Pause before a refused or failed try is repeated. */
  pauseBetweenTries: 25,
  /** A renewal at a third of the ttl leaves time for several more tries before the deadline. */
  renewalsPerTtl: 3,
  /** A renewal that was not answered is tried again after this part of the ttl. */
  renewalTriesPerTtl: 9,
  /** Clocks of two machines run apart by less than this part of the ttl … */
  driftShare: 0.01,
  /** … plus the granularity of expiry on the server. */
  driftFloor: 2,
  /** The safety poll of a waiter whose store can wake it: a lost wake-up costs at most about this long. */
  safetyPoll: 1_000,
  /** The poll of a waiter whose store cannot wake it. */
  storePoll: 50,
  /** A waiter's entry is written again when its last sign of life is older than this. */
  heartbeat: 2_000,
  /** A waiter without a sign of life for this long is dead: three heartbeats. */
  waiterDeadAfter: 6_000,
  /** The queue's own expiry: longer than any waiter lives without a sign. */
  queueTtl: 30_000,
  /** A process that woke another's waiter lets it go first for this long. */
  standBack: 50,
  /**
   * How long a process that cannot be woken stands in the queue before the others stand back for it. Measured: with four
   * busy processes nobody starves any more, and as many are served as without.
   */
  patience: 500,
  /** Bookkeeping of fences outlives them by this. */
  fenceRetention: 86_400_000,
  /** As many fences as may be reserved without leading the clock by more than a millisecond. */
  maxHandOverGrants: 1_000,
  /** Longer than that is unkind to other processes. */
  maxHandOverTime: 10_000,
  /** How long a lock is held before its process listens for a forced release: most are given back sooner. */
  listenAfter: 100,
  /** How long a subscription that nobody needs is kept. */
  listenLinger: 1_000,
} as const

/** What is taken off a lease of `ttl` milliseconds for clocks that run apart. */
export function driftAllowance(ttl: number): number {
  return ttl * bounds.driftShare + bounds.driftFloor
}
