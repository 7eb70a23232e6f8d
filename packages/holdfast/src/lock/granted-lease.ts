import { after, laterOf, millisecondsUntil, type Instant } from '../clock.ts'
import { bounds, driftAllowance } from '../defaults.ts'
import { LockLostError, type LossReason } from '../errors.ts'
import { events } from '../events/channels.ts'
import type { LockAddress } from '../name.ts'
import { Attempt } from '../store/attempt.ts'
import type { Answer, RenewAsk, RenewResult } from '../store/contract.ts'
import { publicError, StoreFailure } from '../store/failure.ts'
import type { LockEngine } from './engine.ts'
import type { Lease, ReleaseOutcome } from './lease.ts'
import { LossSignal } from './loss-signal.ts'
import type { Scheduled } from './schedule.ts'

/** What is known of a grant when it arrives. */
export interface Grant {
  readonly address: LockAddress
  readonly owner: string
  readonly fence: bigint
  readonly trace: string | null
  readonly ttl: number
  /** Whether the watchdog renews it. */
  readonly renew: boolean
  /** Milliseconds after which it is taken from its holder; `null` for no bound. */
  readonly maxHold: number | null
  /** When the request that was granted was sent. */
  readonly sent: Instant
  /**
   * When the acquire was or may have been asked more than once: the server's time after which no copy of it can be granted
   * any more. A release before that is repeated. `null` when it was asked exactly once.
   */
  readonly unfinishedUntil: number | null
}

type Phase = 'held' | 'releasing' | 'released'

/** A lease on one key of the store: its deadline, its renewal, its loss and its release. */
export class GrantedLease implements Lease, Scheduled {
  readonly address: LockAddress
  readonly owner: string
  readonly fence: bigint
  readonly trace: string | null
  readonly ttl: number
  readonly #engine: LockEngine
  readonly #grant: Grant
  readonly #grantedAt: number
  #deadline: Instant
  #phase: Phase = 'held'
  #lost: LossReason | null = null
  #signal: LossSignal | null = null
  #nextRenewal: number
  /** Whether a renewal was sent and has not been answered. */
  #unanswered = false
  /** Releases that were sent while the lock was ours, without an answer. */
  #releasesUnanswered = 0

  dueAt = 0
  early = 0
  heapIndex = -1

  constructor(engine: LockEngine, grant: Grant) {
    this.#engine = engine
    this.#grant = grant
    this.address = grant.address
    this.owner = grant.owner
    this.fence = grant.fence
    this.trace = grant.trace
    this.ttl = grant.ttl
    this.#grantedAt = engine.clock.monotonic()
    this.#deadline = after(grant.sent, grant.ttl - driftAllowance(grant.ttl))
    this.#nextRenewal = grant.renew ? grant.sent.monotonic + grant.ttl / bounds.renewalsPerTtl : Infinity
  }

  /** Begins to renew and to watch the deadline. */
  start(): void {
    this.#engine.holds(this)
    this.#plan()
  }

  get lost(): LossReason | null {
    if (
      this.#lost === null &&
      this.#phase !== 'released' &&
      millisecondsUntil(this.#deadline, this.#engine.clock) <= 0
    ) {
      this.lose(this.#unanswered ? 'unreachable' : 'expired')
    }
    return this.#lost
  }

  get released(): boolean {
    return this.#phase !== 'held'
  }

  get signal(): AbortSignal {
    if (this.#signal === null) {
      this.#signal = new LossSignal(() => void this.lost)
      if (this.#lost !== null) this.#abort(this.#lost)
      else if (this.#phase === 'released') this.#abort('released')
    }
    return this.#signal.signal
  }

  remaining(): number {
    if (this.lost !== null || this.#phase === 'released') return 0
    return millisecondsUntil(this.#deadline, this.#engine.clock)
  }

  /** Milliseconds since it was granted. */
  get held(): number {
    return this.#engine.clock.monotonic() - this.#grantedAt
  }

  /** Tells the holder, once, and stops everything that is done for it. */
  lose(reason: LossReason): void {
    if (this.#lost !== null || this.#phase === 'released') return
    this.#lost = reason
    this.#engine.holdsNoMore(this)
    // Who has asked to release it does not believe to hold it any more.
    if (this.#phase === 'releasing') return
    if (events.lost.hasSubscribers)
      events.lost.publish({ ...this.#event(), reason, held: this.held, trace: this.trace })
    this.#abort(reason)
  }

  /** Stops renewing and lets the key expire on the server. The holder is told that it holds no more. */
  leave(): void {
    if (this.#phase === 'released' || this.#lost !== null) return
    this.#phase = 'released'
    this.#engine.holdsNoMore(this)
    this.#abort('released')
  }

  /** Gives it back because everything is closed. The holder is told that it holds no more. Never rejects. */
  async end(): Promise<void> {
    const released = this.release()
    this.#abort('released')
    await released.catch(() => undefined)
  }

  /** Renews soon instead of in a while: something was heard that may concern it. */
  verify(): void {
    if (this.#phase !== 'held' || this.#nextRenewal === Infinity) return
    this.#nextRenewal = this.#engine.clock.monotonic()
    this.#plan()
  }

  onDue(): void {
    if (this.lost !== null || this.#phase !== 'held') return
    const { maxHold } = this.#grant
    if (maxHold !== null && this.held >= maxHold) {
      this.lose('max-hold')
      this.#engine.settle(this.address, this.owner, {
        unfinishedUntil: this.#grant.unfinishedUntil,
        ttl: this.ttl,
      })
      return
    }
    if (this.#nextRenewal - this.early <= this.#engine.clock.monotonic()) this.#renew()
    this.#plan()
  }

  async extend(ttl: number): Promise<void> {
    this.#assertHeld()
    const outcome = await this.#engine.operate<RenewResult>({
      what: 'extend',
      validUntil: this.#deadline.monotonic,
      ask: (attempt) => this.#askRenewal(ttl, attempt),
      isLate: (result) => result.kind === 'late',
    })
    if (outcome.kind !== 'done')
      throw publicError(outcome, `Extending the lock ${JSON.stringify(this.address.name)}`)
    this.#renewed(outcome.answer, outcome.attempt.sent, ttl)
    this.#assertHeld()
    this.#plan()
  }

  async release(): Promise<ReleaseOutcome> {
    const firstWhileOurs = this.#releasesUnanswered > 0
    const lost = this.lost
    if (this.#phase === 'released') {
      return lost === null ? { released: true, confirmed: true } : { released: false, reason: lost }
    }
    if (lost !== null && !firstWhileOurs) {
      this.#tidyUp(lost)
      return { released: false, reason: lost }
    }
    // Before anything is sent: no renewal may follow a release.
    this.#phase = 'releasing'
    this.#engine.schedule.remove(this)
    const outcome = await this.#engine.release(this.address, this.owner)
    if (outcome.kind !== 'done') {
      this.#releasesUnanswered += 1
      this.#releaseFailed(outcome.failure)
      throw publicError(outcome, `Releasing the lock ${JSON.stringify(this.address.name)}`)
    }
    const { answer } = outcome
    const { result } = answer
    if (result.kind === 'released') return this.#gone(answer, true)
    // Found gone or another's: by an earlier copy of this release, or taken from us before.
    if (firstWhileOurs || outcome.tries > 1 || answer.maybeTwice) return this.#gone(answer, false)
    const reason = result.kind === 'missing' ? 'missing' : 'taken'
    this.lose(reason)
    if (result.kind === 'other' && events.foreignRelease.hasSubscribers) {
      const { name: lock, key } = this.address
      events.foreignRelease.publish({ lock, key, owner: this.owner, holder: result.holder.owner })
    }
    return { released: false, reason: this.#lost ?? reason }
  }

  #gone(answer: Answer<unknown>, confirmed: boolean): ReleaseOutcome {
    this.#phase = 'released'
    this.#engine.holdsNoMore(this)
    const { unfinishedUntil } = this.#grant
    if (unfinishedUntil !== null && answer.serverTime <= unfinishedUntil) {
      this.#engine.settle(this.address, this.owner, { unfinishedUntil, ttl: this.ttl })
    }
    if (events.released.hasSubscribers) {
      events.released.publish({ ...this.#event(), held: this.held, confirmed, trace: this.trace })
    }
    return { released: true, confirmed }
  }

  /** A lock whose time is over may still stand on the server for a moment, or longer if a renewal came late. */
  #tidyUp(lost: LossReason): void {
    if (lost !== 'expired' && lost !== 'unreachable') return
    this.#phase = 'released'
    this.#engine.releaseOnce(this.address, this.owner)
  }

  /** One try; the next is planned before the answer is known. */
  #renew(): void {
    const { clock, budget } = this.#engine
    const now = clock.monotonic()
    this.#nextRenewal = now + this.ttl / bounds.renewalTriesPerTtl
    this.#unanswered = true
    const attempt = new Attempt(now + budget, Math.min(now + budget, this.#deadline.monotonic))
    this.#askRenewal(this.ttl, attempt).then(
      (answer) => this.#renewed(answer, attempt.sent, this.ttl),
      (error: unknown) => this.#renewFailed(error),
    )
  }

  #askRenewal(ttl: number, attempt: Attempt): Promise<Answer<RenewResult>> {
    const ask: RenewAsk = { address: this.address, owner: this.owner, fence: this.fence, ttl }
    return this.#engine.store.renew(ask, attempt)
  }

  #renewed({ result }: Answer<RenewResult>, sent: Instant | null, ttl: number): void {
    this.#unanswered = false
    if (this.lost !== null || this.#phase !== 'held') return
    if (result.kind === 'missing') return this.lose('missing')
    if (result.kind === 'other') return this.lose('taken')
    if (result.kind === 'late' || sent === null) return
    this.#deadline = laterOf(this.#deadline, after(sent, ttl - driftAllowance(ttl)))
    if (this.#grant.renew) this.#nextRenewal = sent.monotonic + this.ttl / bounds.renewalsPerTtl
    this.#plan()
  }

  #renewFailed(error: unknown): void {
    if (error instanceof StoreFailure && error.kind === 'refused') this.#unanswered = false
    if (this.#lost !== null || this.#phase !== 'held' || !events.renewFailed.hasSubscribers) return
    const reason = error instanceof StoreFailure ? error.reason : 'fault'
    events.renewFailed.publish({ ...this.#event(), reason, remaining: this.remaining() })
  }

  #releaseFailed(failure: StoreFailure): void {
    this.#engine.holdsNoMore(this)
    if (events.releaseFailed.hasSubscribers)
      events.releaseFailed.publish({ ...this.#event(), reason: failure.reason })
  }

  /** Puts it into the schedule for whatever comes first. The deadline is watched even when no renewal is ever answered. */
  #plan(): void {
    const { maxHold } = this.#grant
    const end = Math.min(this.#deadline.monotonic, maxHold === null ? Infinity : this.#grantedAt + maxHold)
    const renewsFirst = this.#nextRenewal < end
    this.early = renewsFirst ? this.ttl / bounds.renewalsPerTtl / 4 : 0
    this.#engine.schedule.put(this, renewsFirst ? this.#nextRenewal : end)
  }

  #abort(reason: LossReason | 'released'): void {
    this.#signal?.abort(new LockLostError(this.address.name, reason))
  }

  #assertHeld(): void {
    const reason = this.lost ?? (this.#phase === 'held' ? null : 'released')
    if (reason !== null) throw new LockLostError(this.address.name, reason)
  }

  #event(): { lock: string; key: string; owner: string; fence: string } {
    return { lock: this.address.name, key: this.address.key, owner: this.owner, fence: String(this.fence) }
  }
}
