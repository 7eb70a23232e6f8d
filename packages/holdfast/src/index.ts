export { createHoldfast, Holdfast, type HoldfastOptions } from './holdfast.ts'
export { Lock, type TryOptions, type TryRunResult } from './lock/lock.ts'
export { Held } from './lock/held.ts'
export type { ReleaseOutcome } from './lock/lease.ts'
export type { AcquireOptions, LockOptions } from './lock/options.ts'
export type { ForceReleaseResult, LockInfo } from './lock/inspection.ts'
export { backoff, interval, type Retry } from './lock/retry.ts'
export type { Duration } from './duration.ts'
export type { Store, StoreTraits } from './store/contract.ts'
export { listen, type HoldfastEventName, type HoldfastEvents } from './events/channels.ts'
export {
  ClosedError,
  HoldfastError,
  InvalidArgumentError,
  isHoldfastError,
  LockLostError,
  LockTimeoutError,
  StoreRefusedError,
  StoreUnavailableError,
  type ErrorCode,
  type LossReason,
  type WorkOutcome,
} from './errors.ts'
