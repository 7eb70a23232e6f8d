import { after, instantOf, millisecondsFrom } from '../clock.ts'
import { bounds, driftAllowance } from '../defaults.ts'
import type { LockAddress } from '../name.ts'
import type { Attempt } from '../store/attempt.ts'
import type {
  AcquireAsk,
  AcquireResult,
  Answer,
  AnswerListener,
  AskGroup,
  Holder,
  QueueManners,
} from '../store/contract.ts'
import { StoreFailure } from '../store/failure.ts'
import type { Operation, OperationListener, OperationPlan, Outcome } from '../store/operation.ts'
import type { LockEngine } from './engine.ts'
import type { HandOver } from './options.ts'
import { GrantedLease } from './granted-lease.ts'
import type { LockEntry } from './table.ts'

/** What a caller wants of a lock. */
export interface LockWish {
  readonly address: LockAddress
  /** What this process does about that key; in use as long as there is an owner, a waiter or a lease of this wish. */
  readonly entry: LockEntry
  readonly ttl: number
  readonly renew: boolean
  readonly maxHold: number | null
  /** Bounds of handing the lease on within the process; `null` when it is not. */
  readonly handOver: HandOver | null
  readonly trace: string | null
  /** Those with which it is granted together or not at all. */
  readonly group: AskGroup | undefined
}

/** What one ask came to. */
export type AskResult =
  | { readonly kind: 'granted'; readonly lease: GrantedLease }
  /** `holder` is null when the lock is free but it is others' turn. */
  | { readonly kind: 'busy'; readonly holder: Holder | null }
  | { readonly kind: 'refused' | 'unknown'; readonly failure: StoreFailure }

/** Hears what an ask came to. */
export interface Asker {
  heard(result: AskResult): void
}

/** Dead owners of our own that are cleared out of the way within one ask. More than one is rare. */
const MOST_CLEARED = 3

/** Of one who asks and does not wait. */
export const NO_MANNERS: QueueManners = { join: false, stands: false, yield: false }

/**
 * One owner's attempt to get a lock: asked once, or several times while it waits. The owner is never used again after a
 * release was sent for it, so that a release can never meet a later grant of the same owner.
 */
export class Acquisition implements OperationPlan<AcquireResult>, OperationListener<AcquireResult> {
  readonly what = 'acquire'
  #owner: string
  readonly #engine: LockEngine
  readonly #wish: LockWish
  #manners: QueueManners = NO_MANNERS
  #giveUpAt = 0
  #reserve = 0
  /** Who is told what an ask came to. */
  #asker: Asker | null = null
  /** How many dead owners were cleared out of the way within this ask. */
  #cleared = 0
  #operation: Operation<AcquireResult> | null = null
  /** The last moment, by the server's clock, in which a copy that was sent may be granted. */
  #lastNotAfter: number | null = null
  /** Whether some copy may still be under way. */
  #unsure = false
  #over = false
  #asked = false

  constructor(engine: LockEngine, wish: LockWish) {
    this.#engine = engine
    this.#wish = wish
    this.#owner = engine.newOwner(wish.entry)
  }

  get owner(): string {
    return this.#owner
  }

  /**
   * Asks the store, within a budget, and tells the asker once, unless it is abandoned before. A lock that is held by an
   * abandoned owner of this very process is cleared and asked for again: "busy" is never said about a key of our own.
   *
   * @param giveUpAt monotonic milliseconds, after which no further try is made
   * @param reserve how many fences more are wanted, to hand the lease on
   * @param now monotonic milliseconds
   */
  start(manners: QueueManners, giveUpAt: number, reserve: number, asker: Asker, now: number): void {
    this.#reserve = reserve
    this.#manners = manners
    this.#giveUpAt = giveUpAt
    this.#asker = asker
    this.#cleared = 0
    this.#askOnce(now)
  }

  /** One try, for the operation. */
  ask(attempt: Attempt): Promise<Answer<AcquireResult>> {
    return this.#engine.store.acquire(this.#askOf(), attempt)
  }

  /** The same, for the operation itself to be told. */
  askFor(attempt: Attempt, listener: AnswerListener<AcquireResult>): boolean {
    return this.#engine.store.acquireFor?.(this.#askOf(), attempt, listener) ?? false
  }

  #askOf(): AcquireAsk {
    const { address, ttl, trace, group } = this.#wish
    // An earlier try may have joined the queue without our knowing.
    const again = this.#manners.join && !this.#manners.stands && (this.#operation?.attempts.length ?? 0) > 1
    const queue = again ? { ...this.#manners, stands: true } : this.#manners
    return { address, owner: this.owner, ttl, trace, queue, reserve: this.#reserve, group }
  }

  isLate(result: AcquireResult): boolean {
    return result.kind === 'late'
  }

  /** Ends it for good: sends nothing any more, and clears away what may have been granted. */
  abandon(): void {
    if (this.#over) return
    this.#over = true
    this.#asker = null
    if (this.#operation !== null) {
      this.#operation.abandon()
      this.#noteAttempts(this.#operation, true)
    }
    if (this.#unsure) this.#clear()
    else this.#engine.retire(this.owner, this.#wish.entry)
  }

  #askOnce(now: number): void {
    const { budget, store } = this.#engine
    if (this.#asked && store.spendsOwners === true) this.#changeOwner()
    this.#asked = true
    const time = Math.min(budget, Math.max(bounds.minBudget, this.#giveUpAt - now))
    const operation = this.#engine.operation(this, time, now)
    this.#operation = operation
    operation.start(this)
  }

  /** For the operation. */
  ended(outcome: Outcome<AcquireResult>, operation: Operation<AcquireResult>): void {
    this.#operation = null
    const unsure =
      outcome.kind === 'unknown' ||
      (outcome.kind === 'done' && (outcome.doubtful || outcome.answer.maybeTwice))
    this.#noteAttempts(operation, unsure)
    if (outcome.kind !== 'done') return this.#tell(outcome)
    const { result } = outcome.answer
    if (result.kind === 'granted') return this.#granted(outcome, result)
    if (result.kind === 'late') throw new Error('an operation never ends with late')
    const { holder } = result
    const blocked = holder !== null && this.#engine.isAbandoned(holder.owner, this.#wish.entry)
    const time = this.#giveUpAt - this.#engine.clock.monotonic()
    if (!blocked || this.#cleared === MOST_CLEARED || time <= 0) return this.#tell(result)
    this.#cleared += 1
    // The ask that found it busy has put us into the queue.
    if (this.#manners.join) this.#manners = { ...this.#manners, stands: true }
    const budget = Math.min(this.#engine.budget, time)
    void this.#engine.release(this.#wish.address, holder.owner, { budget }).then(() => {
      // Abandoned meanwhile: nothing may be asked for any more.
      if (!this.#over) this.#askOnce(this.#engine.clock.monotonic())
    })
  }

  #noteAttempts(operation: Operation<AcquireResult>, unsure: boolean): void {
    for (const { sent, notAfter } of operation.attempts) {
      if (sent === null) continue
      if (unsure) this.#unsure = true
      if (notAfter !== null) this.#lastNotAfter = Math.max(this.#lastNotAfter ?? 0, notAfter)
    }
  }

  #granted(
    { attempt, answer }: Outcome<AcquireResult> & { kind: 'done' },
    { fence, again, reserved: wanted = 0 }: AcquireResult & { kind: 'granted' },
  ): void {
    const { ttl } = this.#wish
    const { sent } = attempt
    this.#over = true
    const now = instantOf(this.#engine.clock)
    if (sent === null || millisecondsFrom(now, after(sent, ttl - driftAllowance(ttl))) <= 0) {
      // A grant whose time has passed is never handed on.
      this.#clear()
      return this.#tell({ kind: 'refused', failure: tooLate() })
    }
    // "Mine" at the first ask: the client itself sent it twice.
    const unfinishedUntil = this.#unsure || again ? this.#lastNotAfter : null
    // A lease that may have been asked for twice is not handed on: whoever gives it back has to know of the copy that may still come.
    const reserved = unfinishedUntil === null ? wanted : 0
    const grant = { owner: this.owner, fence, reserved, sent, unfinishedUntil }
    const lease = new GrantedLease(this.#engine, this.#wish, grant, now)
    this.#engine.watchClock(lease, answer, sent.monotonic, now.monotonic)
    this.#tell({ kind: 'granted', lease })
  }

  /** The store has taken back, or takes back, whatever the last one got. */
  #changeOwner(): void {
    const { entry } = this.#wish
    const spent = this.#owner
    // In this order: the entry stays in use.
    this.#owner = this.#engine.newOwner(entry)
    this.#engine.retire(spent, entry)
    this.#unsure = false
    this.#lastNotAfter = null
  }

  #tell(result: AskResult): void {
    const asker = this.#asker
    this.#asker = null
    asker?.heard(result)
  }

  #clear(): void {
    const unfinishedUntil = this.#unsure ? this.#lastNotAfter : null
    const { address, entry, ttl } = this.#wish
    this.#engine.retire(this.owner, entry)
    this.#engine.settle(address, this.owner, { unfinishedUntil, ttl })
  }
}

function tooLate(): StoreFailure {
  return new StoreFailure('the store granted it only after its time was over', {
    kind: 'unreachable',
    outcome: 'not-done',
    final: false,
    reason: 'granted-late',
  })
}
