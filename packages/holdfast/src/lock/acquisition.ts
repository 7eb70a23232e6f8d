import { millisecondsUntil, after } from '../clock.ts'
import { bounds, driftAllowance } from '../defaults.ts'
import type { LockAddress } from '../name.ts'
import type { Attempt } from '../store/attempt.ts'
import type { AcquireResult, Answer, Holder, QueueManners } from '../store/contract.ts'
import { StoreFailure } from '../store/failure.ts'
import type { Operation, OperationPlan, Outcome } from '../store/operation.ts'
import type { LockEngine } from './engine.ts'
import type { HandOver } from './options.ts'
import { GrantedLease } from './granted-lease.ts'

/** What a caller wants of a lock. */
export interface LockWish {
  readonly address: LockAddress
  readonly ttl: number
  readonly renew: boolean
  readonly maxHold: number | null
  /** Bounds of handing the lease on within the process; `null` when it is not. */
  readonly handOver: HandOver | null
  readonly trace: string | null
}

/** What one ask came to. */
export type AskResult =
  | { readonly kind: 'granted'; readonly lease: GrantedLease }
  /** `holder` is null when the lock is free but it is others' turn. */
  | { readonly kind: 'busy'; readonly holder: Holder | null }
  | { readonly kind: 'refused' | 'unknown'; readonly failure: StoreFailure }

/** Dead owners of our own that are cleared out of the way within one ask. More than one is rare. */
const MOST_CLEARED = 3

/** Of one who asks and does not wait. */
export const NO_MANNERS: QueueManners = { join: false, stands: false, yield: false }

/**
 * One owner's attempt to get a lock: asked once, or several times while it waits. The owner is never used again after a
 * release was sent for it, so that a release can never meet a later grant of the same owner.
 */
export class Acquisition implements OperationPlan<AcquireResult> {
  readonly what = 'acquire'
  readonly owner: string
  readonly #engine: LockEngine
  readonly #wish: LockWish
  #manners: QueueManners = NO_MANNERS
  #giveUpAt = 0
  #reserve = 0
  #done: ((result: AskResult) => void) | null = null
  #operation: Operation<AcquireResult> | null = null
  /** The last moment, by the server's clock, in which a copy that was sent may be granted. */
  #lastNotAfter: number | null = null
  /** Whether some copy may still be under way. */
  #unsure = false
  #over = false

  constructor(engine: LockEngine, wish: LockWish) {
    this.#engine = engine
    this.#wish = wish
    this.owner = engine.newOwner()
  }

  /**
   * Asks the store, within a budget, and calls `done` once, unless it is abandoned before. A lock that is held by an
   * abandoned owner of this very process is cleared and asked for again: "busy" is never said about a key of our own.
   *
   * @param giveUpAt monotonic milliseconds, after which no further try is made
   * @param reserve how many fences more are wanted, to hand the lease on
   */
  start(manners: QueueManners, giveUpAt: number, reserve: number, done: (result: AskResult) => void): void {
    this.#reserve = reserve
    this.#manners = manners
    this.#giveUpAt = giveUpAt
    this.#done = done
    this.#askOnce(0)
  }

  /** One try, for the operation. */
  ask(attempt: Attempt): Promise<Answer<AcquireResult>> {
    const { address, ttl, trace } = this.#wish
    // An earlier try may have joined the queue without our knowing.
    const again = this.#manners.join && !this.#manners.stands && (this.#operation?.attempts.length ?? 0) > 1
    const queue = again ? { ...this.#manners, stands: true } : this.#manners
    return this.#engine.store.acquire(
      { address, owner: this.owner, ttl, trace, queue, reserve: this.#reserve },
      attempt,
    )
  }

  isLate(result: AcquireResult): boolean {
    return result.kind === 'late'
  }

  /** Ends it for good: sends nothing any more, and clears away what may have been granted. */
  abandon(): void {
    if (this.#over) return
    this.#over = true
    this.#done = null
    if (this.#operation !== null) {
      this.#operation.abandon()
      this.#noteAttempts(this.#operation, true)
    }
    if (this.#unsure) this.#clear()
    else this.#engine.retire(this.owner)
  }

  /** @param cleared how many dead owners were cleared out of the way before */
  #askOnce(cleared: number): void {
    const { clock, budget } = this.#engine
    const time = Math.min(budget, Math.max(bounds.minBudget, this.#giveUpAt - clock.monotonic()))
    const operation = this.#engine.operation(this, time)
    this.#operation = operation
    operation.start((outcome) => this.#heard(outcome, operation, cleared))
  }

  #heard(outcome: Outcome<AcquireResult>, operation: Operation<AcquireResult>, cleared: number): void {
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
    const blocked = holder !== null && this.#engine.isAbandoned(holder.owner)
    const time = this.#giveUpAt - this.#engine.clock.monotonic()
    if (!blocked || cleared === MOST_CLEARED || time <= 0) return this.#tell(result)
    const budget = Math.min(this.#engine.budget, time)
    void this.#engine.release(this.#wish.address, holder.owner, { budget }).then(() => {
      // Abandoned meanwhile: nothing may be asked for any more.
      if (!this.#over) this.#askOnce(cleared + 1)
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
    { attempt }: Outcome<AcquireResult> & { kind: 'done' },
    { fence, again, reserved: wanted = 0 }: AcquireResult & { kind: 'granted' },
  ): void {
    const { ttl } = this.#wish
    const { sent } = attempt
    this.#over = true
    if (sent === null || millisecondsUntil(after(sent, ttl - driftAllowance(ttl)), this.#engine.clock) <= 0) {
      // A grant whose time has passed is never handed on.
      this.#clear()
      return this.#tell({ kind: 'refused', failure: tooLate() })
    }
    // "Mine" at the first ask: the client itself sent it twice.
    const unfinishedUntil = this.#unsure || again ? this.#lastNotAfter : null
    // A lease that may have been asked for twice is not handed on: which fences another copy took is not known.
    const reserved = unfinishedUntil === null ? wanted : 0
    const grant = { owner: this.owner, fence, reserved, sent, unfinishedUntil }
    const lease = new GrantedLease(this.#engine, this.#wish, grant)
    this.#tell({ kind: 'granted', lease })
  }

  #tell(result: AskResult): void {
    const done = this.#done
    this.#done = null
    done?.(result)
  }

  #clear(): void {
    const unfinishedUntil = this.#unsure ? this.#lastNotAfter : null
    this.#engine.settle(this.#wish.address, this.owner, { unfinishedUntil, ttl: this.#wish.ttl })
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
