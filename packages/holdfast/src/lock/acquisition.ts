import { millisecondsUntil, after } from '../clock.ts'
import { bounds, driftAllowance } from '../defaults.ts'
import type { LockAddress } from '../name.ts'
import type { AcquireResult, Holder, QueueManners } from '../store/contract.ts'
import { StoreFailure } from '../store/failure.ts'
import type { Operation, Outcome } from '../store/operation.ts'
import type { LockEngine } from './engine.ts'
import { GrantedLease } from './granted-lease.ts'

/** What a caller wants of a lock. */
export interface LockWish {
  readonly address: LockAddress
  readonly ttl: number
  readonly renew: boolean
  readonly maxHold: number | null
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

/**
 * One owner's attempt to get a lock: asked once, or several times while it waits. The owner is never used again after a
 * release was sent for it, so that a release can never meet a later grant of the same owner.
 */
export class Acquisition {
  readonly owner: string
  readonly #engine: LockEngine
  readonly #wish: LockWish
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
   * Asks the store, within a budget. A lock that is held by an abandoned owner of this very process is cleared and asked for
   * again: "busy" is never said about a key of our own.
   *
   * @param giveUpAt monotonic milliseconds, after which no further try is made
   */
  async ask(manners: QueueManners, giveUpAt: number): Promise<AskResult> {
    for (let cleared = 0; ; cleared += 1) {
      const outcome = await this.#askOnce(manners, giveUpAt)
      if (outcome.kind !== 'done') return { kind: outcome.kind, failure: outcome.failure }
      const { result } = outcome.answer
      if (result.kind === 'granted') return this.#granted(outcome, result.fence)
      if (result.kind === 'late') throw new Error('an operation never ends with late')
      const { holder } = result
      const blocked = holder !== null && this.#engine.isAbandoned(holder.owner)
      const time = giveUpAt - this.#engine.clock.monotonic()
      if (!blocked || cleared === MOST_CLEARED || time <= 0 || this.#over) return result
      const budget = Math.min(this.#engine.budget, time)
      await this.#engine.release(this.#wish.address, holder.owner, { budget })
      // Abandoned meanwhile: nothing may be asked for any more.
      if (this.#over) return result
    }
  }

  /** Ends it for good: sends nothing any more, and clears away what may have been granted. */
  abandon(): void {
    if (this.#over) return
    this.#over = true
    if (this.#operation !== null) {
      this.#operation.abandon()
      this.#noteAttempts(this.#operation, true)
    }
    if (this.#unsure) this.#clear()
    else this.#engine.retire(this.owner)
  }

  async #askOnce(manners: QueueManners, giveUpAt: number): Promise<Outcome<AcquireResult>> {
    const { address, ttl, trace } = this.#wish
    const { clock, store } = this.#engine
    let tries = 0
    const operation = this.#engine.operation<AcquireResult>({
      what: 'acquire',
      budget: Math.min(this.#engine.budget, Math.max(bounds.minBudget, giveUpAt - clock.monotonic())),
      ask: (attempt) => {
        tries += 1
        // An earlier try may have joined the queue without our knowing.
        const queue = { ...manners, stands: manners.stands || (manners.join && tries > 1) }
        return store.acquire({ address, owner: this.owner, ttl, trace, queue }, attempt)
      },
      isLate: (result) => result.kind === 'late',
    })
    this.#operation = operation
    const outcome = await operation.run()
    this.#operation = null
    if (!this.#over) {
      const unsure =
        outcome.kind === 'unknown' ||
        (outcome.kind === 'done' && (outcome.doubtful || outcome.answer.maybeTwice))
      this.#noteAttempts(operation, unsure)
    }
    return outcome
  }

  #noteAttempts(operation: Operation<AcquireResult>, unsure: boolean): void {
    for (const { sent, notAfter } of operation.attempts) {
      if (sent === null) continue
      if (unsure) this.#unsure = true
      if (notAfter !== null) this.#lastNotAfter = Math.max(this.#lastNotAfter ?? 0, notAfter)
    }
  }

  #granted(outcome: Outcome<AcquireResult> & { kind: 'done' }, fence: bigint): AskResult {
    const { attempt, answer } = outcome
    const sent = attempt.sent
    const { ttl } = this.#wish
    if (sent === null || millisecondsUntil(after(sent, ttl - driftAllowance(ttl)), this.#engine.clock) <= 0) {
      // A grant whose time has passed is never handed on.
      this.#over = true
      this.#clear()
      return { kind: 'refused', failure: tooLate() }
    }
    this.#over = true
    // "Mine" at the first ask: the client itself sent it twice.
    const again = answer.result.kind === 'granted' && answer.result.again
    const unfinishedUntil = this.#unsure || again ? this.#lastNotAfter : null
    const lease = new GrantedLease(this.#engine, {
      ...this.#wish,
      owner: this.owner,
      fence,
      sent,
      unfinishedUntil,
    })
    return { kind: 'granted', lease }
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
