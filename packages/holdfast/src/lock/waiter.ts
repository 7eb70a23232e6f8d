import type { Timer } from '../clock.ts'
import { LockTimeoutError } from '../errors.ts'
import { events, type HoldfastEvents } from '../events/channels.ts'
import type { Acquisition, LockWish } from './acquisition.ts'
import type { LockEngine } from './engine.ts'
import type { GrantedLease } from './granted-lease.ts'
import type { Lease } from './lease.ts'
import type { Retry } from './retry.ts'
import { takeOut } from './table.ts'

/** A lease, or who has the lock: busy is a value here, an error only after a wait. */
export type Leased<L extends Lease = Lease> =
  | { readonly lease: L }
  /** `waited`: milliseconds. */
  | { readonly holder: string | null; readonly waited: number }

/** What a call wants, and how it is answered. */
export interface WaiterParts {
  readonly wish: LockWish
  /** Milliseconds; 0 for one who does not wait. */
  readonly wait: number
  /** How it asks again; `null` to stand in the queue. */
  readonly retry: Retry | null
  readonly signal: AbortSignal | null
  /** Where it stands, to be taken out of when the signal aborts. */
  readonly line: { cancel(waiter: Waiter, reason: unknown): void }
  readonly resolve: (leased: Leased<GrantedLease>) => void
  readonly reject: (error: unknown) => void
}

/** A call that asks or waits for a lock. It is answered once, and events tell how it ended. */
export class Waiter {
  readonly wish: LockWish
  readonly retry: Retry | null
  readonly since: number
  /** Monotonic milliseconds: when the wait is over. */
  readonly deadline: number
  readonly #engine: LockEngine
  readonly #parts: WaiterParts
  readonly #stopWatching: (() => void) | null
  settled = false
  asks = 0
  acquisition: Acquisition | null = null
  timer: Timer | null = null

  constructor(engine: LockEngine, parts: WaiterParts) {
    this.#engine = engine
    this.#parts = parts
    this.wish = parts.wish
    this.retry = parts.retry
    this.since = engine.clock.monotonic()
    this.deadline = this.since + parts.wait
    const { signal } = parts
    this.#stopWatching =
      signal === null ? null : engine.aborts.add(signal, () => parts.line.cancel(this, signal.reason))
    engine.acquires(1)
  }

  get waited(): number {
    return this.#engine.clock.monotonic() - this.since
  }

  /** Answers with the lease, and begins to hold it. */
  grant(lease: GrantedLease): void {
    this.#settle()
    lease.start()
    if (events.acquired.hasSubscribers) {
      const { address, ttl, trace } = this.wish
      const { owner, fence } = lease
      const { name: lock, key } = address
      events.acquired.publish({ lock, key, owner, fence: String(fence), waited: this.waited, ttl, trace })
    }
    if (this.#parts.wait > 0) this.#tellWaited('acquired', null)
    this.#parts.resolve({ lease })
  }

  /** Answers that another has it. */
  refuse(holder: string | null): void {
    this.#settle()
    this.#parts.resolve({ holder, waited: this.waited })
  }

  fail(error: unknown): void {
    this.#settle()
    if (this.#parts.wait > 0)
      this.#tellWaited(endOf(error), error instanceof LockTimeoutError ? error.holder : null)
    this.#parts.reject(error)
  }

  /** What it had asked for is cleared away in the background, unless it was handed over. */
  #settle(): void {
    this.settled = true
    if (takeOut(this.wish.entry.asking, this)) this.#engine.table.ended(this.wish.entry)
    this.timer?.cancel()
    this.acquisition?.abandon()
    this.#stopWatching?.()
    this.#engine.acquires(-1)
  }

  #tellWaited(outcome: HoldfastEvents['holdfast:lock:waited']['outcome'], holder: string | null): void {
    if (!events.waited.hasSubscribers) return
    const { name: lock, key } = this.wish.address
    events.waited.publish({ lock, key, waited: this.waited, outcome, holder })
  }
}

function endOf(error: unknown): HoldfastEvents['holdfast:lock:waited']['outcome'] {
  if (error instanceof LockTimeoutError) return 'timeout'
  const code = (error as { code?: unknown } | null)?.code
  if (code === 'CLOSED') return 'closed'
  return code === 'STORE_UNAVAILABLE' || code === 'STORE_REFUSED' ? 'failed' : 'aborted'
}
