import { after, millisecondsUntil, type Instant } from '../clock.ts'
import { bounds, driftAllowance } from '../defaults.ts'
import { ClosedError, LockLostError, type LossReason } from '../errors.ts'
import { events } from '../events/channels.ts'
import type { LockAddress } from '../name.ts'
import { Attempt } from '../store/attempt.ts'
import type { Answer, ReleaseResult, RenewAsk, RenewResult } from '../store/contract.ts'
import { publicError, StoreFailure } from '../store/failure.ts'
import type { LockWish } from './acquisition.ts'
import type { LockEngine } from './engine.ts'
import type { Lease, ReleaseOutcome } from './lease.ts'
import type { Outcome } from '../store/operation.ts'
import { LossSignal } from './loss-signal.ts'
import type { Scheduled } from './schedule.ts'

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

type Phase = 'held' | 'releasing' | 'released'

/** A lease on one key of the store: its deadline, its renewal, its loss and its release. */
export class GrantedLease implements Lease, Scheduled {
  readonly address: LockAddress
  readonly owner: string
  readonly fence: bigint
  readonly trace: string | null
  readonly ttl: number
  readonly #engine: LockEngine
  /** The fence in the lock's value: of the first grant of the lease. */
  #leaseFence: bigint
  /** Fences that are left for handing it on. */
  #spare = 0
  /** Monotonic milliseconds. */
  #handOverUntil = -Infinity
  /** Calls of `extend` that are under way, or were never answered. */
  #extending = 0
  /** When the last request was sent that the store confirmed: monotonic milliseconds. */
  #confirmed: number
  /** Whether the watchdog renews it. */
  readonly #renews: boolean
  readonly #unfinishedUntil: number | null
  readonly #grantedAt: number
  /** Monotonic milliseconds; infinite without `maxHold`. */
  readonly #holdEnd: number
  #deadline: Instant
  #phase: Phase = 'held'
  /** Whether everything is being closed, and it is given back for that. */
  #ending = false
  /** Whether everything was closed, and it was left to expire. */
  #left = false
  #lost: LossReason | null = null
  #signal: LossSignal | null = null
  #nextRenewal: number
  /** Whether the next renewal repeats one that was not answered. */
  #retrying = false
  #lastTry = -Infinity
  /** Renewals that may still be sent, or sent again. */
  #renewals: readonly Attempt[] = []
  /** Whether a renewal was sent and has not been answered. */
  #unanswered = false
  /** Whether a release that was sent while the lock was ours may have been done. */
  #maybeReleased = false
  /** The release that is under way; a second call shares its outcome. */
  #releasing: Promise<ReleaseOutcome> | null = null

  dueAt = 0
  early = 0
  heapIndex = -1

  constructor(engine: LockEngine, wish: LockWish, grant: Grant) {
    this.#engine = engine
    this.#unfinishedUntil = grant.unfinishedUntil
    this.address = wish.address
    this.owner = grant.owner
    this.fence = grant.fence
    this.trace = wish.trace
    this.ttl = wish.ttl
    this.#renews = wish.renew
    this.#grantedAt = engine.clock.monotonic()
    this.#holdEnd = wish.maxHold === null ? Infinity : this.#grantedAt + wish.maxHold
    this.#deadline = after(grant.sent, wish.ttl - driftAllowance(wish.ttl))
    this.#nextRenewal = wish.renew ? grant.sent.monotonic + wish.ttl / bounds.renewalsPerTtl : Infinity
    this.#leaseFence = grant.fence
    this.#confirmed = grant.sent.monotonic
    if (wish.handOver !== null && grant.reserved > 0) {
      this.#spare = Math.min(grant.reserved, wish.handOver.grants - 1)
      this.#handOverUntil = this.#grantedAt + wish.handOver.time
    }
  }

  /**
   * Whether it could go to another call of this process without a round trip: fences are reserved for that, its bounds are
   * not reached, and the store confirmed it less than a third of the ttl ago.
   */
  couldPassTo(wish: LockWish): boolean {
    if (this.#spare === 0 || this.#phase !== 'held' || wish.ttl !== this.ttl || wish.handOver === null)
      return false
    const now = this.#engine.clock.monotonic()
    const fresh = now - this.#confirmed < this.ttl / bounds.renewalsPerTtl
    // A lease that was extended would outlast the next holder's crash by more than it asked for.
    const extended = this.#extending > 0 || this.#deadline.monotonic > now + this.ttl
    return now < this.#handOverUntil && fresh && !extended && this.lost === null
  }

  /** Milliseconds in which it may still be handed on. */
  get handOverLeft(): number {
    return Math.max(0, this.#handOverUntil - this.#engine.clock.monotonic())
  }

  /** Ends this hold, and gives the lease to another call under the next reserved fence. Only when {@link couldPassTo}. */
  passTo(wish: LockWish): GrantedLease {
    const grant = {
      owner: this.owner,
      fence: this.fence + 1n,
      reserved: 0,
      sent: this.#deadline,
      unfinishedUntil: null,
    }
    const next = new GrantedLease(this.#engine, wish, grant)
    next.#leaseFence = this.#leaseFence
    next.#spare = this.#spare - 1
    next.#handOverUntil = this.#handOverUntil
    next.#confirmed = this.#confirmed
    next.#deadline = this.#deadline
    next.#nextRenewal = this.#nextRenewal
    next.#lastTry = this.#lastTry
    next.#retrying = this.#retrying
    next.#unanswered = this.#unanswered
    this.#phase = 'released'
    this.#callOffRenewals()
    // Told before the next one is: who reads the events in order must not see two holders.
    this.#tellReleased(true)
    return next
  }

  /** Begins to renew and to watch the deadline. */
  start(): void {
    this.#engine.holds(this)
    this.#plan()
  }

  get lost(): LossReason | null {
    if (this.#lost === null && this.#phase !== 'released') this.#checkTime()
    return this.#lost
  }

  get released(): boolean {
    return this.#phase !== 'held'
  }

  get signal(): AbortSignal {
    if (this.#signal === null) {
      this.#signal = new LossSignal(() => void this.lost)
      if (this.#lost !== null) this.#abort(this.#lost)
      else if (this.#phase === 'released' || this.#ending) this.#abort('released')
    }
    return this.#signal.signal
  }

  remaining(): number {
    if (this.lost !== null || this.#phase !== 'held') return 0
    const { clock } = this.#engine
    return Math.min(millisecondsUntil(this.#deadline, clock), this.#holdEnd - clock.monotonic())
  }

  /** Milliseconds since it was granted. */
  get held(): number {
    return this.#engine.clock.monotonic() - this.#grantedAt
  }

  /** Tells the holder, once, and stops everything that is done for it. */
  lose(reason: LossReason): void {
    if (this.#lost !== null || this.#phase === 'released') return
    this.#lost = reason
    this.#stop()
    // At maxHold the key is still ours. Else only a copy of the acquire that is still on its way could bring it back.
    if (reason === 'max-hold' || this.#unfinishedUntil !== null) this.disown()
    // Who has asked to release it does not believe to hold it any more.
    if (this.#phase !== 'releasing') this.#tellLoss(reason)
  }

  #tellLoss(reason: LossReason): void {
    if (events.lost.hasSubscribers)
      events.lost.publish({ ...this.#event(), reason, held: this.held, trace: this.trace })
    this.#abort(reason)
  }

  /** Clears away what is, or may yet be, on the store; in the background. */
  disown(): void {
    this.#engine.settle(this.address, this.owner, { unfinishedUntil: this.#unfinishedUntil, ttl: this.ttl })
  }

  /** Stops renewing and lets the key expire on the server. The holder is told that it holds no more. */
  leave(): void {
    if (this.#phase === 'released' || this.#lost !== null) return
    this.#phase = 'released'
    this.#left = true
    this.#stop()
    this.#abort('released')
  }

  /** Gives it back because everything is closed. The holder is told that it holds no more. Never rejects. */
  async end(): Promise<void> {
    this.#ending = true
    const released = this.release()
    this.#abort('released')
    await released.catch(() => undefined)
  }

  /** Renews soon instead of in a while: something was heard that may concern it. Not more often than a try is repeated. */
  verify(): void {
    if (this.#phase !== 'held' || this.#nextRenewal === Infinity) return
    const soonest = Math.max(this.#engine.clock.monotonic(), this.#lastTry + this.#pauseBetweenTries)
    this.#nextRenewal = Math.min(this.#nextRenewal, soonest)
    this.#plan()
  }

  onDue(): void {
    if (this.lost !== null || this.#phase !== 'held') return
    if (this.#nextRenewal - this.early <= this.#engine.clock.monotonic()) this.#renew()
    this.#plan()
  }

  async extend(ttl: number): Promise<void> {
    this.#assertHeld()
    this.#extending += 1
    const outcome = await this.#engine.operate<RenewResult>({
      what: 'extend',
      validUntil: this.#deadline.monotonic,
      ask: (attempt) => this.#askRenewal(ttl, attempt),
      isLate: (result) => result.kind === 'late',
    })
    // One of which no answer came may still prolong it.
    if (outcome.kind === 'done') this.#extending -= 1
    if (outcome.kind !== 'done')
      throw publicError(outcome, `Extending the lock ${JSON.stringify(this.address.name)}`)
    this.#renewed(outcome.answer, outcome.attempt.sent, ttl)
    this.#assertHeld()
    this.#plan()
  }

  /** One at a time: who asks meanwhile gets the same answer. */
  release(): Promise<ReleaseOutcome> {
    return this.#releasing ?? this.#release()
  }

  #release(): Promise<ReleaseOutcome> {
    const lost = this.lost
    // It stands on the store until it expires, and nothing is sent any more.
    if (this.#left) return Promise.reject(new ClosedError())
    if (this.#phase === 'released') {
      return Promise.resolve(
        lost === null ? { released: true, confirmed: true } : { released: false, reason: lost },
      )
    }
    if (lost !== null && !this.#maybeReleased) {
      this.#tidyUp(lost)
      return Promise.resolve({ released: false, reason: lost })
    }
    if (this.#spare > 0 && this.#engine.handsOn(this)) {
      return Promise.resolve({ released: true, confirmed: true })
    }
    // Before anything is sent: no renewal may follow a release.
    this.#phase = 'releasing'
    this.#callOffRenewals()
    this.#releasing = new Promise((resolve, reject) => {
      this.#engine.startRelease({ address: this.address, owner: this.owner }, {}, (outcome) => {
        this.#releasing = null
        if (outcome.kind === 'done') return resolve(this.#releaseAnswered(outcome, lost))
        if (outcome.kind === 'unknown') this.#maybeReleased = true
        this.#releaseFailed(outcome.failure)
        reject(publicError(outcome, `Releasing the lock ${JSON.stringify(this.address.name)}`))
      })
    })
    return this.#releasing
  }

  /** @param lost what was known before it was asked for */
  #releaseAnswered(
    outcome: Outcome<ReleaseResult> & { kind: 'done' },
    lost: LossReason | null,
  ): ReleaseOutcome {
    const { answer } = outcome
    const { result } = answer
    if (result.kind === 'released') return this.#gone(answer, true)
    // Found gone or another's: by an earlier copy of this release, or taken from us before.
    if (this.#maybeReleased || outcome.doubtful || answer.maybeTwice) return this.#gone(answer, false)
    const reason = result.kind === 'missing' ? 'missing' : 'taken'
    if (lost === null && this.#lost === null) {
      this.lose(reason)
      this.#tellLoss(reason)
    }
    if (result.kind === 'other' && events.foreignRelease.hasSubscribers) {
      const { name: lock, key } = this.address
      events.foreignRelease.publish({ lock, key, owner: this.owner, holder: result.holder.owner })
    }
    return { released: false, reason: this.#lost ?? reason }
  }

  #gone(answer: Answer<unknown>, confirmed: boolean): ReleaseOutcome {
    this.#phase = 'released'
    this.#stop()
    if (this.#unfinishedUntil !== null && answer.serverTime <= this.#unfinishedUntil) this.disown()
    this.#tellReleased(confirmed)
    return { released: true, confirmed }
  }

  #tellReleased(confirmed: boolean): void {
    if (!events.released.hasSubscribers) return
    events.released.publish({ ...this.#event(), held: this.held, confirmed, trace: this.trace })
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
    this.#lastTry = now
    this.#nextRenewal = now + this.#pauseBetweenTries
    this.#retrying = true
    if (this.#unanswered) this.#tellRenewFailed('silent')
    this.#unanswered = true
    const attempt = new Attempt(now + budget, Math.min(now + budget, this.#deadline.monotonic))
    this.#renewals = [...this.#renewals.filter(({ until }) => until > now), attempt]
    this.#askRenewal(this.ttl, attempt).then(
      (answer) => this.#renewed(answer, attempt.sent, this.ttl),
      (error: unknown) => this.#renewFailed(error),
    )
  }

  #askRenewal(ttl: number, attempt: Attempt): Promise<Answer<RenewResult>> {
    const ask: RenewAsk = { address: this.address, owner: this.owner, fence: this.#leaseFence, ttl }
    return this.#engine.store.renew(ask, attempt)
  }

  #renewed({ result }: Answer<RenewResult>, sent: Instant | null, ttl: number): void {
    this.#unanswered = false
    if (this.lost !== null || this.#phase !== 'held') return
    if (result.kind === 'missing') return this.lose('missing')
    if (result.kind === 'other') return this.lose('taken')
    if (result.kind === 'late' || sent === null) return
    this.#confirmed = sent.monotonic
    this.#moveDeadline(after(sent, ttl - driftAllowance(ttl)))
    if (this.#renews) this.#nextRenewal = sent.monotonic + this.ttl / bounds.renewalsPerTtl
    this.#retrying = false
    this.#plan()
  }

  #renewFailed(error: unknown): void {
    const refused = error instanceof StoreFailure && error.kind === 'refused'
    if (refused) this.#unanswered = false
    if (this.#lost === null && this.#phase === 'held') {
      this.#tellRenewFailed(error instanceof StoreFailure ? error.reason : 'fault')
    }
  }

  #tellRenewFailed(reason: string): void {
    if (!events.renewFailed.hasSubscribers) return
    events.renewFailed.publish({ ...this.#event(), reason, remaining: this.remaining() })
  }

  /**
   * The store keeps what is left or the new lease, whichever is longer, and so do we. Both clocks' readings move together:
   * an old one of a wall clock that was set back since would hide a sleep.
   */
  #moveDeadline(next: Instant): void {
    const { clock } = this.#engine
    if (millisecondsUntil(next, clock) > millisecondsUntil(this.#deadline, clock)) this.#deadline = next
  }

  #releaseFailed(failure: StoreFailure): void {
    this.#stop()
    if (this.#unfinishedUntil !== null) this.disown()
    if (events.releaseFailed.hasSubscribers)
      events.releaseFailed.publish({ ...this.#event(), reason: failure.reason })
  }

  get #pauseBetweenTries(): number {
    return this.ttl / bounds.renewalTriesPerTtl
  }

  /** Loses it when its time is over, by the deadline or by `maxHold`, whichever came first. */
  #checkTime(): void {
    const { clock } = this.#engine
    const heldTooLong = this.#phase === 'held' && clock.monotonic() >= this.#holdEnd
    if (heldTooLong && this.#holdEnd <= this.#deadline.monotonic) this.lose('max-hold')
    else if (millisecondsUntil(this.#deadline, clock) <= 0)
      this.lose(this.#unanswered ? 'unreachable' : 'expired')
  }

  /** Nothing is done for it any more. */
  #stop(): void {
    this.#callOffRenewals()
    this.#engine.holdsNoMore(this)
  }

  #callOffRenewals(): void {
    this.#engine.schedule.remove(this)
    for (const attempt of this.#renewals) attempt.abandoned = true
  }

  /** Puts it into the schedule for whatever comes first. The deadline is watched even when no renewal is ever answered. */
  #plan(): void {
    const end = Math.min(this.#deadline.monotonic, this.#holdEnd)
    const renewsFirst = this.#nextRenewal < end
    this.early = renewsFirst && !this.#retrying ? this.ttl / bounds.renewalsPerTtl / 4 : 0
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
