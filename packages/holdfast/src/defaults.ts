/** Every default and bound of the library, each with the reason for it. Times are in milliseconds. */
export const defaults = {
  /** Starts every key. The version lets a later wire format live beside this one. */
  prefix: 'holdfast:v1',
  /** Short enough that a crash frees the lock soon, long enough to survive a slow server and a long pause. */
  ttl: 30_000,
  /** How often a session lock asks its connection: a server that has vanished is noticed before most work is done. */
  sessionCheck: 5_000,
  /** Waiting is always bounded; five seconds is about what a caller at the other end bears. */
  wait: 5_000,
  /** For one operation on the store, its repeats included: a store that is slower than this is down for its callers. */
  budget: 1_000,
  /** For making tables: others may be at it at the same time, and a deployment bears more than a request. */
  migrateBudget: 30_000,
  /** For replicas to have a grant: many times what one takes that is well, and little of a budget. */
  acknowledgeWithin: 100,
  /** For one node of a quorum to answer: three tries fit into a budget, and a server that is slower is as good as down. */
  nodeBudget: 200,
  /** Grants that a lease gives within its process before others get the lock: enough to make the round trips vanish. */
  handOverGrants: 64,
  /** For how long it does so: not longer than a person notices. */
  handOverTime: 100,
  /** `interval()` and the base of `backoff()`: a person does not notice it, and a server hardly does. */
  retryInterval: 50,
  /** The longest pause of `backoff()`: as long as the poll of a waiter in the queue, and a fifth of the wait. */
  longestRetry: 1_000,
  /** For one decision of a limiter: it stands in the way of a request, and a limiter that is slower than this does harm. */
  limitBudget: 100,
  /** A failure is told: neither everything nor nothing is let through unless somebody chose it. */
  onStoreError: 'throw',
  /** The share of an instance is all of it, until the number of instances is known. */
  instances: 1,
  /** Long enough that a denied subject costs nearly no round trips, short enough that a refund elsewhere is soon seen. */
  rememberFor: 1_000,
  /** Calls that wait for one subject: more than that will hardly be served within any wait. */
  maxWaiting: 1_000,
  /** A slot outlives a crash of its holder by as much as a lock does. */
  slotLease: 30_000,
  /** How long a reservation waits to be settled: longer than nearly any request takes. */
  reserveFor: 60_000,
  /** What becomes of a reservation that nobody settles: it stays counted, so that no limit is ever exceeded by it. */
  atEnd: 'settle',
  /** A run outlives a crash of its runner by as much as a lock does. */
  runLease: 30_000,
  /** How long an outcome is replayed: as long as clients repeat what they are not sure of. */
  retention: 86_400_000,
  /** The effect happens at most once; that it may happen twice must be chosen. */
  onAbandoned: 'fail',
  /** A repeat of what still runs is told so at once: its client asks again. */
  repeatWait: 0,
  /** The largest outcome that is stored, in bytes: more than nearly any answer, and no burden for a store. */
  maxBytes: 262_144,
  /** The longest time for a handler of a request with an idempotency key: longer than nearly any client waits. */
  maxRun: 300_000,
  /** How long a fenced value's fence outlives it: longer than any writer is held up. */
  keepFence: 86_400_000,
  /** How long a handler may go on after its client has gone: handlers that do not notice are done by then. */
  afterDisconnect: 30_000,
} as const

/** Bounds of what callers may set, and the constants of the protocols. Times are in milliseconds. */
export const bounds = {
  /** Below this a renewal cannot be told from the noise of timers. */
  minTtl: 10,
  /** Above a day a lease is a mistake: use renewal. */
  maxTtl: 86_400_000,
  maxWait: 86_400_000,
  /** The longest time of a fenced value, and of its fence after it: a year. */
  maxFencedTtl: 31_536_000_000,
  maxHold: 86_400_000,
  /** Asked more often, a session lock would be work for its server. */
  minSessionCheck: 100,
  maxSessionCheck: 600_000,
  minBudget: 30,
  maxBudget: 60_000,
  maxMigrateBudget: 600_000,
  /** Tries per budget: one answer may be lost and one server may be slow, and there is still a third. */
  triesPerBudget: 3,
  /** Releases that are repeated when another server answers: what one second brings, mostly, and little to keep. */
  recentReleases: 1_000,
  /** Those older than this are not: a replica lags by less, and what had the usual ttl has run out. */
  releaseIsRecent: 30_000,
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
  /** Replicas of one primary: more are not promoted by anybody. */
  maxReplicas: 15,
  maxAcknowledgeWithin: 10_000,
  /** Connections for acknowledged calls: each blocks its own until the replicas have answered, and gathers calls meanwhile. */
  ownConnections: 4,
  /** So long one may take to be opened: a client gives one silent sentinel ten seconds before it asks the next. */
  ownOpening: 12_000,
  /** How often a Sentinel client is asked for its primary while it knows none. */
  seekPrimary: 25,
  /** A connection on which a call was not answered in its time, nor this much later, is ended. */
  ownConnectionGrace: 1_000,
  /** A round trip to a node of a quorum is hardly ever shorter. */
  minNodeBudget: 5,
  maxNodeBudget: 10_000,
  /** More nodes cost more with every call, and outlive hardly more failures. */
  maxNodes: 15,
  /** Nodes whose clocks run apart by more than this have no clocks. */
  maxDrift: 0.5,
  /** After a split vote all wait for a random part of so many rounds: ten contenders then seldom meet again. */
  splitVoteRounds: 20,
  shortestSplitVote: 25,
  /** A process that a few nodes of a quorum woke, and not the majority, asks within this: another was woken by the others. */
  minorityWake: 500,
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
  /** A reading of the server's clock that took long gives way to a quicker one; after this it is too old for that. */
  clockMemory: 60_000,
  /** Bookkeeping of fences outlives them by this. */
  fenceRetention: 86_400_000,
  /** Names of one `lockAll`: more are better one lock of what they belong to, and all of them fit into one call. */
  maxNames: 64,
  /** As many fences as may be reserved without leading the clock by more than a millisecond. */
  maxHandOverGrants: 1_000,
  /** Longer than that is unkind to other processes. */
  maxHandOverTime: 10_000,
  /** How long a lock is held before its process listens for a forced release: most are given back sooner. */
  listenAfter: 100,
  /** How long a subscription that nobody needs is kept. */
  listenLinger: 1_000,
  /** A cost, and every number of a policy: what fits into 31 bits is exact in every store. */
  maxCost: 2 ** 31 - 1,
  /** An exact window keeps eight bytes for each entry. */
  maxExactLimit: 10_000_000,
  minPer: 1,
  /** A window longer than a year is a quota, and belongs into a database. */
  maxPer: 31_536_000_000,
  /** An empty bucket fills within this: its key lives as long. */
  maxFillTime: 315_360_000_000,
  maxPolicyName: 64,
  /** Every policy costs time on the server in every decision. */
  maxPolicies: 16,
  /** What `limitFor` may return is kept checked for so many different limits. */
  checkedLimits: 1_000,
  maxRememberFor: 1_000,
  /** Subjects whose denial is remembered; beyond it the oldest is forgotten, which costs a round trip. */
  rememberedSubjects: 10_000,
  /** Tokens in one lease: what a process may hold of a limit without using it. */
  maxTokenLease: 100_000,
  /** Tokens that were taken in advance are used within this, or given back: so soon a block elsewhere is obeyed. */
  tokenLeaseLife: 1_000,
  /** Subjects with tokens in advance; beyond it the oldest's are given back. */
  leasedSubjects: 10_000,
  /** Subjects that are limited locally while the store is down: a million addresses must not fill the memory. */
  localSubjects: 10_000,
  /** Above this share an exact window is counted approximately while it is limited locally, to bound its memory. */
  localLogLimit: 100,
  /** What a decision says to wait when the store is down and nothing is known. */
  unknownRetryAfter: 1_000,
  /** How often the first in line asks for a slot that another process may give back at any time. */
  slotPoll: 200,
  maxWaiting: 100_000,
  maxInstances: 100_000,
  maxReserveFor: 86_400_000,
  maxBlock: 31_536_000_000,
  /** An outcome that is to be kept for longer belongs into a database. */
  maxRetention: 31_536_000_000,
  /** An outcome larger than this belongs into a store of files. */
  maxOutcomeBytes: 16_777_216,
  /** How soon a call that waits for another process's run asks first, and how far apart it asks later. */
  firstRepeatPoll: 25,
  longestRepeatPoll: 500,
  /** What a repeat is told to wait at most: most runs are done by then. */
  longestRetryAfter: 1_000,
  /** Characters of an `Idempotency-Key`: far more than a UUID, and little in every store. */
  maxIdempotencyKey: 255,
  /** How deep a payload may be nested to have a fingerprint. */
  maxFingerprintDepth: 1_000,
} as const

/** What is taken off a lease of `ttl` milliseconds for clocks that run apart. */
export function driftAllowance(ttl: number): number {
  return ttl * bounds.driftShare + bounds.driftFloor
}
