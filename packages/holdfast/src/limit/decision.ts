import type { SlotLossReason } from '../errors.ts'
import type { PolicyKind } from '../store/limit/policy.ts'

/** Who decided. */
export type DecisionSource =
  /** The store, in one atomic step. */
  | 'store'
  /** A denial that is remembered here: it cost no round trip. */
  | 'remembered'
  /** Tokens that this process took in advance. */
  | 'leased'
  /** The store is down; this process limits by its own share. */
  | 'local'
  /** The store is down; allowed or denied as `onStoreError` says. */
  | 'unavailable'

/** What a limiter decided. Times are whole milliseconds, rounded up. */
export interface Decision {
  /** Whether to go on. In shadow mode always true; `wouldDeny` tells. */
  readonly allowed: boolean
  /** In shadow mode: that it would have been denied. */
  readonly wouldDeny: boolean
  /** The cost is above the capacity: waiting does not help. */
  readonly never: boolean
  /** What would still pass at once, under the tightest policy. */
  readonly remaining: number
  /** Limit or capacity of the policy that decided. */
  readonly limit: number
  /** After this the same cost passes if nothing else happens; 0 when allowed, `null` with `never`. */
  readonly retryAfter: number | null
  /** Until nothing counts any more. */
  readonly resetAfter: number
  /** For a leaky bucket: how long to wait before going. Else 0. */
  readonly delay: number
  /** The name of the policy that decided: the one that refused for longest, else the one with the least left; `'block'` while blocked. */
  readonly policy: string
  /** What each policy said, in their order. Empty with source `'unavailable'`. */
  readonly policies: readonly PolicyDecision[]
  readonly source: DecisionSource
  readonly cost: number
  /** With a concurrency policy, when allowed: what is held until `slot.release()`. */
  readonly slot?: Slot
}

/** What one policy of a limiter said. */
export interface PolicyDecision {
  readonly name: string
  readonly kind: PolicyKind
  readonly allowed: boolean
  readonly never: boolean
  readonly limit: number
  /** Length of the window, or the time in which an empty bucket fills, in ms; `null` for a concurrency limit. */
  readonly window: number | null
  readonly remaining: number
  readonly retryAfter: number | null
  readonly resetAfter: number
}

/** What an allowed take of a concurrency limit holds. It is renewed until it is given back. */
export interface Slot extends AsyncDisposable {
  /** Why it is lost; `null` while it is not, and after it was given back in time. Computed from this machine's clocks. */
  readonly lost: SlotLossReason | null
  /** Aborts when the slot is lost, with a `SlotLostError` as its reason: another may work in its place. */
  readonly signal: AbortSignal
  /**
   * Gives the slot back; the first call counts. One round trip, none when it is lost. When the store fails, the call rejects
   * and may be repeated; renewal has ended by then, so that the slot ends with its lease at the latest.
   *
   * @returns whether it was still held
   * @throws StoreUnavailableError, StoreRefusedError
   */
  release(): Promise<boolean>
}
