import type { LossReason } from '../errors.ts'
import type { LockAddress } from '../name.ts'

/** What giving a lock back came to. */
export type ReleaseOutcome =
  /** It is free. `confirmed` is false when an earlier release, whose answer was lost, must have done it. */
  | { readonly released: true; readonly confirmed: boolean }
  /** It was not ours any more; nothing was changed. */
  | { readonly released: false; readonly reason: LossReason }

/** A lock that was granted to this process: the one thing that lives or dies. What callers hold is a share of it. */
export interface Lease {
  readonly address: LockAddress
  readonly owner: string
  readonly fence: bigint
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
