import type { Instant } from '../clock.ts'
import type { LossReason } from '../errors.ts'
import type { LockAddress } from '../name.ts'
import type { StoreTraits } from '../store/contract.ts'

/** What giving a lock back came to. */
export type ReleaseOutcome =
  /**
   * This hold gave it back. `confirmed`: the store answered this release, and found the lock still ours. False when an earlier release, whose
   * answer was lost, must have done it; and when the store was not asked, since the lock went to the next caller of this
   * process, or another hold of the same flow goes on.
   */
  | { readonly released: true; readonly confirmed: boolean }
  /** It was not ours any more; nothing was changed. */
  | { readonly released: false; readonly reason: LossReason }

/** A hold that ended while its lease goes on in this process. */
export const NOT_ASKED = { released: true, confirmed: false } as const satisfies ReleaseOutcome

/** A lock that was granted to this process: the one thing that lives or dies. What callers hold is a share of it. */
export interface Lease {
  readonly address: LockAddress
  readonly owner: string
  readonly fence: bigint
  /** What its store promises about the order of fences. */
  readonly fences: StoreTraits['fences']
  /** What the watchdog keeps it at, in milliseconds. */
  readonly ttl: number
  /** Computed when read, from both clocks: a late timer cannot lie. */
  readonly lost: LossReason | null
  /** Whether it was given back by its holder. */
  readonly released: boolean
  readonly signal: AbortSignal
  /** Milliseconds until the local deadline; 0 when lost or released. */
  remaining(): number
  /** Sees to it that at least `ttl` milliseconds are left. Rejects with LockLostError, or when the store fails. */
  extend(ttl: number): Promise<void>
  /** Gives it back. Rejects when the store fails; a repeat is safe. */
  release(): Promise<ReleaseOutcome>
}

/** What is known of a grant when it arrives. */
export interface Grant {
  readonly owner: string
  readonly fence: bigint
  /** How many fences after it are reserved, to hand the lease on. */
  readonly reserved: number
  /** When the request that was granted was sent. */
  readonly sent: Instant
  /**
   * When the acquire was or may have been asked more than once: the server's time after which no copy of it can be granted
   * any more. A release before that is repeated. `null` when it was asked exactly once.
   */
  readonly unfinishedUntil: number | null
}
