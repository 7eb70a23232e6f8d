import { after, instantOf, millisecondsFrom, type Instant } from '../clock.ts'
import { bounds, driftAllowance } from '../defaults.ts'
import { ClosedError, LockLostError, type LossReason } from '../errors.ts'
import type { LockAddress } from '../name.ts'
import { Attempt } from '../store/attempt.ts'
import type { Answer, ReleaseResult, RenewAsk, RenewResult, StoreTraits } from '../store/contract.ts'
import { publicError, StoreFailure } from '../store/failure.ts'
import type { LockWish } from './acquisition.ts'
import type { LockEngine } from './engine.ts'
import { NOT_ASKED, type Grant, type Lease, type ReleaseOutcome } from './lease.ts'
import type { Outcome } from '../store/operation.ts'
import { tellForeignRelease } from './foreign-release.ts'
import { laterOf } from './later-deadline.ts'
import { tellLost, tellReleased, tellReleaseFailed, tellRenewFailed } from './lease-events.ts'
import { readLease } from './lease-reading.ts'
import { LossSignal } from './loss-signal.ts'
import type { LockEntry } from './table.ts'
import type { Scheduled } from '../schedule.ts'

type Phase = 'held' | 'releasing' | 'released'

const NO_RENEWALS: readonly Attempt[] = []

/** A lease on one key of the store: its deadline, its renewal, its loss and its release. */
export class GrantedLease implements Lease, Scheduled {
  readonly address: LockAddress
  readonly entry: LockEntry
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
  readonly #grantedAt: Instant
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
  #renewals: readonly Attempt[] = NO_RENEWALS
  /** Whether a renewal was sent and has not been answered. */
  #unanswered = false
  /** Whether a release that was sent while the lock was ours may have been done. */
  #maybeReleased = false
  /** The release that is under way; a second call shares its outcome. */
  #releasing: Promise<ReleaseOutcome> | null = null
  /** What the release came to, once that is known: who asks again is told the same. */
  #outcome: ReleaseOutcome | null = null
  dueAt = 0
  early = 0
  heapIndex = -1

  /** @param now when it is made, which is when it was granted */
  constructor(engine: LockEngine, wish: LockWish, grant: Grant, now: Instant) {
    this.#engine = engine
    this.#unfinishedUntil = grant.unfinishedUntil
    this.address = wish.address
    this.entry = wish.entry
    this.owner = grant.owner
    this.fence = grant.fence
    this.trace = wish.trace
    this.ttl = wish.ttl
    this.#renews = wish.renew
    this.#grantedAt = now
    this.#holdEnd = wish.maxHold === null ? Infinity : now.monotonic + wish.maxHold
    this.#deadline = after(grant.sent, wish.ttl - driftAllowance(wish.ttl))
    this.#nextRenewal = wish.renew ? grant.sent.monotonic + wish.ttl / bounds.renewalsPerTtl : Infinity
    this.#leaseFence = grant.fence
    this.#confirmed = grant.sent.monotonic
    if (wish.handOver !== null && grant.reserved > 0) {
      this.#spare = Math.min(grant.reserved, wish.handOver.grants - 1)
      this.#handOverUntil = now.monotonic + wish.handOver.time
    }
  }

  get fences(): StoreTraits['fences'] {
    return this.#engine.fences
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
    const next = new GrantedLease(this.#engine, wish, grant, instantOf(this.#engine.clock))
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
    this.#outcome = NOT_ASKED
    this.#callOffRenewals()
    this.#engine.handedOn(this)
    // Told before the next one is: who reads the events in order must not see two holders.
    tellReleased(this, NOT_ASKED.confirmed)
    return next
  }

  /** Begins to renew and to watch the deadline. Called as soon as it is made. */
  start(): void {
    this.#engine.holds(this)
    if (this.#lost === null) this.#plan(this.#grantedAt)
  }

  get lost(): LossReason | null {
    return this.#lostBy(instantOf(this.#engine.clock))
  }

  #lostBy(now: Instant): LossReason | null {
    if (this.#lost === null && this.#phase !== 'released') this.#checkTime(now)
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
    const now = instantOf(this.#engine.clock)
    if (this.#lostBy(now) !== null || this.#phase !== 'held') return 0
    return Math.min(millisecondsFrom(now, this.#deadline), this.#holdEnd - now.monotonic)
  }

  /** Milliseconds since it was granted. */
  get held(): number {
    return this.#engine.clock.monotonic() - this.#grantedAt.monotonic
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

  /** The key was granted to another owner of this process, under a higher fence. */
  superseded(): void {
    if (this.#phase === 'held') this.lose('taken')
  }

  #tellLoss(reason: LossReason): void {
    tellLost(this, reason)
    this.#abort(reason)
  }

  /** Clears away what is, or may yet be, on the store; in the background. */
  disown(): void {
    this.#engine.retire(this.owner, this.entry)
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

  /** Asks at once whether it still stands, however lately another server was asked: by a renewal, or where there is none, by reading. */
  check(): void {
    if (this.#phase !== 'held' || this.lost !== null) return
    this.#lastTry = -Infinity
    if (this.#nextRenewal !== Infinity) this.verify()
    else readLease(this.#engine, this)
  }

  /** The store's clock was stepped forward by so many ms: it is over that much earlier, perhaps now. */
  shorten(ms: number): void {
    this.#deadline = after(this.#deadline, -ms)
    this.check()
    if (this.#lost === null && this.#phase === 'held') this.#plan()
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
    const now = instantOf(this.#engine.clock)
    const lost = this.#lostBy(now)
    // It stands on the store until it expires, and nothing is sent any more.
    if (this.#left) return Promise.reject(new ClosedError())
    if (this.#outcome !== null) return Promise.resolve(this.#outcome)
    if (lost !== null && !this.#maybeReleased) {
      this.#tidyUp(lost)
      return Promise.resolve({ released: false, reason: lost })
    }
    if (this.#spare > 0 && this.#engine.handsOn(this)) return Promise.resolve(NOT_ASKED)
    // Before anything is sent: no renewal may follow a release.
    this.#phase = 'releasing'
    this.#callOffRenewals()
    this.#releasing = new Promise((resolve, reject) => {
      const ended = (outcome: Outcome<ReleaseResult>): void => {
        this.#releasing = null
        if (outcome.kind === 'done') return resolve(this.#releaseAnswered(outcome, lost))
        if (outcome.kind === 'unknown') this.#maybeReleased = true
        this.#releaseFailed(outcome.failure)
        reject(publicError(outcome, `Releasing the lock ${JSON.stringify(this.address.name)}`))
      }
      this.#engine.startRelease(this, { ended }, undefined, now.monotonic)
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
    if (result.kind === 'other') tellForeignRelease(this, result.holder.owner)
    return { released: false, reason: this.#lost ?? reason }
  }

  #gone(answer: Answer<unknown>, confirmed: boolean): ReleaseOutcome {
    this.#phase = 'released'
    this.#stop()
    if (this.#unfinishedUntil !== null && answer.serverTime <= this.#unfinishedUntil) this.disown()
    tellReleased(this, confirmed)
    return (this.#outcome = { released: true, confirmed })
  }

  /** A lock whose time is over may still stand on the server for a moment, or longer if a renewal came late. */
  #tidyUp(lost: LossReason): void {
    if (lost !== 'expired' && lost !== 'unreachable') return
    this.#phase = 'released'
    this.#outcome = { released: false, reason: lost }
    this.#engine.releaseOnce(this.address, this.owner)
  }

  /** One try; the next is planned before the answer is known. */
  #renew(): void {
    const { clock, budget } = this.#engine
    const now = clock.monotonic()
    this.#lastTry = now
    this.#nextRenewal = now + this.#pauseBetweenTries
    this.#retrying = true
    if (this.#unanswered) tellRenewFailed(this, 'silent')
    this.#unanswered = true
    const attempt = new Attempt(now + budget, Math.min(now + budget, this.#deadline.monotonic))
    this.#renewals = [...this.#renewals.filter(({ until }) => until > now), attempt]
    this.#askRenewal(this.ttl, attempt).then(
      (answer) => this.#renewed(answer, attempt.sent, this.ttl),
      (error: unknown) => this.#renewFailed(error),
    )
  }

  /** Rejects also where the store throws. */
  async #askRenewal(ttl: number, attempt: Attempt): Promise<Answer<RenewResult>> {
    const ask: RenewAsk = { address: this.address, owner: this.owner, fence: this.#leaseFence, ttl }
    return this.#engine.store.renew(ask, attempt)
  }

  #renewed(answer: Answer<RenewResult>, sent: Instant | null, ttl: number): void {
    this.#unanswered = false
    const { result } = answer
    const arrived = this.#engine.clock.monotonic()
    const jump = sent === null ? 0 : this.#engine.watchClock(this, answer, sent.monotonic, arrived)
    if (this.lost !== null || this.#phase !== 'held') return
    if (result.kind === 'missing') return this.lose('missing')
    if (result.kind === 'other') return this.lose('taken')
    if (result.kind === 'late' && jump > 0) return this.shorten(jump)
    if (result.kind === 'late' || sent === null) return
    this.#confirmed = sent.monotonic
    if (jump > 0) this.#deadline = after(this.#deadline, -jump)
    this.#deadline = laterOf(after(sent, ttl - driftAllowance(ttl)), this.#deadline, this.#engine.clock)
    if (this.#renews) this.#nextRenewal = sent.monotonic + this.ttl / bounds.renewalsPerTtl
    this.#retrying = false
    this.#plan()
  }

  #renewFailed(error: unknown): void {
    if (error instanceof StoreFailure && error.kind === 'refused') this.#unanswered = false
    if (this.#lost === null && this.#phase === 'held')
      tellRenewFailed(this, error instanceof StoreFailure ? error.reason : 'fault')
  }

  #releaseFailed(failure: StoreFailure): void {
    this.#stop()
    if (this.#unfinishedUntil !== null) this.disown()
    tellReleaseFailed(this, failure.reason)
  }

  get #pauseBetweenTries(): number {
    return this.ttl / bounds.renewalTriesPerTtl
  }

  /** Loses it when its time is over, by the deadline or by `maxHold`, whichever came first. */
  #checkTime(now: Instant): void {
    const heldTooLong = this.#phase === 'held' && now.monotonic >= this.#holdEnd
    if (heldTooLong && this.#holdEnd <= this.#deadline.monotonic) this.lose('max-hold')
    else if (millisecondsFrom(now, this.#deadline) <= 0)
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
  #plan(now = instantOf(this.#engine.clock)): void {
    // By whichever clock ends first: a machine that slept since the request was sent has less time left than timers know.
    const end = Math.min(now.monotonic + millisecondsFrom(now, this.#deadline), this.#holdEnd)
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
}
