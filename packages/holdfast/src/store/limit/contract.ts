import type { LimitAddress } from '../../name.ts'
import type { Attempt } from '../attempt.ts'
import type { Answer, AnswerListener } from '../contract.ts'
import type { Policy } from './policy.ts'

/**
 * The contract of a store of limits. As with locks, each method is *one try* and settles in one of three ways: it resolves,
 * it rejects with a `StoreFailure`, or it stays pending while the store is silent.
 *
 * Time is the store's own, read in the same atomic step; callers never send theirs. Calls that count do nothing after
 * `attempt.validUntil` and answer `late`. A call that counts is known by `ask.id`: asked again with the same id (its answer
 * was lost) within twice the budget, it answers what it answered before and counts nothing.
 */
export interface LimitStore {
  /** Decides about one subject in one atomic step: all policies admit and count the cost, or none counts. */
  take(ask: TakeAsk, attempt: Attempt): Promise<Answer<TakeResult>>
  /** As `take`, for a listener instead of a promise; see `LockStore.acquireFor`. */
  takeFor?(ask: TakeAsk, attempt: Attempt, listener: AnswerListener<TakeResult>): boolean
  /** What `take` of this cost would answer now, as if it were counted. Writes nothing. */
  peek(ask: PeekAsk, attempt: Attempt): Promise<Answer<Verdict>>
  /**
   * Changes what an earlier take counted to `cost`: gives back what is less (0: all), counts what is more without asking
   * whether it is admitted. Nothing happens under a policy in which that take is over: out of its window, expired, flushed.
   */
  adjust(ask: AdjustAsk, attempt: Attempt): Promise<Answer<AdjustResult>>
  /** Prolongs the slots of one take to their full lease. */
  renew(ask: RenewSlotAsk, attempt: Attempt): Promise<Answer<RenewSlotResult>>
  /**
   * Forgets all usage of the subject under these policies (what a store knows under others may go too): windows, buckets,
   * slots, reservations. A block stays.
   */
  reset(ask: SubjectAsk, attempt: Attempt): Promise<Answer<null>>
  /** Refuses everything for `duration` ms from now; a block that stands is replaced. `duration` 0 unblocks. */
  block(ask: BlockAsk, attempt: Attempt): Promise<Answer<null>>
}

export interface SubjectAsk {
  readonly address: LimitAddress
  /** With the limits that hold for this subject now. Usage carries over when they change. */
  readonly policies: readonly Policy[]
}

export interface PeekAsk extends SubjectAsk {
  /** A whole number from 1 to 2^31 - 1. */
  readonly cost: number
}

export interface TakeAsk extends PeekAsk {
  /** 22 url-safe characters; one for each take. Names its slots and its reservation. */
  readonly id: string
  /** Whether a denied take counts as well (as much as fits: usage never exceeds the limit). One that can never pass does not. */
  readonly countDenied: boolean
  /** Milliseconds after which the take is given back by itself unless it was settled; `null`: it stays counted. */
  readonly returnAfter: number | null
}

export interface AdjustAsk extends SubjectAsk {
  /** The take's id. */
  readonly take: string
  /** This call's own id. */
  readonly id: string
  /** When the take was counted, by the store's clock (`Verdict.at`). */
  readonly at: number
  /** What the take counted. */
  readonly taken: number
  /** What it shall count from now on; 0 gives all of it back. */
  readonly cost: number
}

export interface RenewSlotAsk extends SubjectAsk {
  readonly take: string
}

export interface BlockAsk extends SubjectAsk {
  readonly duration: number
}

export type TakeResult = ({ readonly kind: 'decided' } & Verdict) | { readonly kind: 'late' }

export type AdjustResult =
  /** `adjusted` is false when the take was over under every policy: nothing was changed. */
  { readonly kind: 'done'; readonly adjusted: boolean } | { readonly kind: 'late' }

/** `missing`: the slots are gone (expired, reset, flushed). */
export type RenewSlotResult = { readonly kind: 'renewed' | 'missing' | 'late' }

/** What was decided about one subject. */
export interface Verdict {
  readonly allowed: boolean
  /** Milliseconds for which the subject is blocked; 0 when it is not. A blocked subject is refused, and nothing is counted. */
  readonly blockedFor: number
  /** One for each policy, in their order. */
  readonly policies: readonly PolicyVerdict[]
  /** The store's time, in milliseconds, under which a take was counted; for `adjust`. */
  readonly at: number
}

/** What one policy says. Times are milliseconds from now, whole, rounded up. */
export interface PolicyVerdict {
  readonly allowed: boolean
  /** The cost is above the capacity: it would not pass even at rest. */
  readonly never: boolean
  /** What would still pass at once after this decision, rounded down; never negative. */
  readonly remaining: number
  /**
   * 0 when this policy admits. Else the time after which this cost passes if nothing else happens; one millisecond earlier
   * it does not. 0 as well with `never`. For slots: until enough leases end, at the latest. A denied take that was counted is
   * counted in this, so that then a policy that admitted may name a time, too.
   */
  readonly retryAfter: number
  /** Until nothing counts any more. */
  readonly resetAfter: number
  /** For a leaky bucket: how long to wait before going. Else 0. */
  readonly delay: number
}
