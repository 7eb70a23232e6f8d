export { createHoldfast, Holdfast, type HoldfastOptions } from './holdfast.ts'
export type { CheckReport, Finding, Severity } from './check/report.ts'
export { Lock, type TryOptions, type TryRunResult } from './lock/lock.ts'
export { LockAll } from './lock/lock-all.ts'
export { Held } from './lock/held.ts'
export { HeldAll } from './lock/held-all.ts'
export type { AcquireAllOptions, LockAllOptions } from './lock/lock-all-options.ts'
export type { ReleaseOutcome } from './lock/lease.ts'
export type { AcquireOptions, LockOptions } from './lock/options.ts'
export type { ForceReleaseResult, LockInfo } from './lock/inspection.ts'
export { backoff, interval, type Retry } from './lock/retry.ts'
export { Limiter } from './limit/limiter.ts'
export {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingWindow,
  tokenBucket,
  type ConcurrencyOptions,
  type LeakyBucketOptions,
  type TokenBucketOptions,
  type WindowOptions,
} from './limit/policies.ts'
export type { LimitFor, PolicyNumbers, SubjectLimits } from './limit/policy-set.ts'
export type {
  LimiterOptions,
  StoreErrorChoice,
  PeekOptions,
  ReserveOptions,
  TakeOptions,
  WaitOptions,
} from './limit/options.ts'
export type { Decision, DecisionSource, PolicyDecision, Slot } from './limit/decision.ts'
export { Reservation } from './limit/reservation.ts'
export type { Policy, PolicyKind } from './store/limit/policy.ts'
export { Idempotency, type IdempotentOutcome, type SettleResult } from './idempotency/idempotency.ts'
export type {
  IdempotencyKey,
  IdempotencyOptions,
  IdempotentRunOptions,
  Settlement,
} from './idempotency/options.ts'
export type { IdempotentRun } from './idempotency/execution.ts'
export type { OnceInfo } from './idempotency/info.ts'
export type { OutcomeCodec } from './idempotency/codec.ts'
export { finalError, isFinalError } from './idempotency/final-error.ts'
export type { Duration } from './duration.ts'
export type { Store, StoreTraits } from './store/contract.ts'
export type { Shortfall } from './store/shortfall.ts'
export { listen, type HoldfastEventName, type HoldfastEvents } from './events/channels.ts'
export {
  ClosedError,
  HoldfastError,
  IdempotencyInProgressError,
  IdempotencyMismatchError,
  InvalidArgumentError,
  isHoldfastError,
  LockLostError,
  LockTimeoutError,
  NotAcknowledgedError,
  OutcomeUnknownError,
  QuorumImpossibleError,
  RateLimitedError,
  SlotLostError,
  StaleFenceError,
  StoreRefusedError,
  StoreUnavailableError,
  type ErrorCode,
  type LossReason,
  type NodeFailure,
  type OutcomeUnknownReason,
  type RateLimitedReason,
  type SlotLossReason,
  type StaleFence,
  type WorkOutcome,
} from './errors.ts'
