import { NO_PLACE } from '../bag.ts'
import { after, millisecondsUntil, type Instant } from '../clock.ts'
import { bounds, driftAllowance } from '../defaults.ts'
import { ClosedError, OutcomeUnknownError, type OnceKey, type OutcomeUnknownReason } from '../errors.ts'
import type { Scheduled } from '../schedule.ts'
import type { Claim, OnceCommands, Renewal } from './commands.ts'
import type { Closing, OnceEngine } from './once-engine.ts'

/**
 * The lease of a run: renewed every third of it, until the run has ended. As with locks, `lost`, `signal.aborted` and the
 * truth agree at the local deadline at the latest, whether the store can be reached or not.
 */
export class RunLease implements Scheduled, Closing {
  dueAt = 0
  readonly early: number
  heapIndex = -1
  place = NO_PLACE
  readonly #engine: OnceEngine
  readonly #commands: OnceCommands
  readonly #claim: Claim
  readonly #about: OnceKey
  readonly #lease: number
  /** Made when somebody asks for the signal: one costs as much as all the rest of a run. */
  #controller: AbortController | null = null
  /** What the signal aborted with, or would have. */
  #ending: { readonly reason: Error } | null = null
  #deadline: Instant
  #renewing = false
  #unanswered = false
  #lost: OutcomeUnknownReason | null = null
  #over = false

  /** @param lease milliseconds */
  constructor(engine: OnceEngine, commands: OnceCommands, claim: Claim, about: OnceKey, lease: number) {
    this.#engine = engine
    this.#commands = commands
    this.#claim = claim
    this.#about = about
    this.#lease = lease
    this.#deadline = after(claim.sent, lease - driftAllowance(lease))
    this.early = lease / bounds.renewalTriesPerTtl
    engine.add(this)
    engine.schedule.put(this, claim.sent.monotonic + lease / bounds.renewalsPerTtl)
  }

  /** Why the key is, or may be, somebody else's; `null` while it is ours. */
  get lost(): OutcomeUnknownReason | null {
    if (!this.#over && this.#left() <= 0) {
      this.#lose(this.#unanswered || this.#renewing ? 'unreachable' : 'expired')
    }
    return this.#lost
  }

  /** Aborts when it is lost, and when everything is closed. */
  get signal(): AbortSignal {
    void this.lost
    this.#controller ??= new AbortController()
    if (this.#ending !== null) this.#controller.abort(this.#ending.reason)
    return this.#controller.signal
  }

  /** The run has ended: nothing is renewed any more. */
  end(): void {
    this.#over = true
    this.#engine.remove(this)
    this.#engine.schedule.remove(this)
  }

  /** Nobody will learn how the run ended: the key is kept no longer than the lease lasts. */
  giveUp(): void {
    if (!this.#over) this.#lose('abandoned')
  }

  /** Works are asked to end. What they come to by then is stored. */
  close(): void {
    if (!this.#over) this.#abort(new ClosedError())
  }

  onDue(): void {
    const left = this.#left()
    if (left <= 0) return void this.lost
    if (this.#engine.over) return this.end()
    const next = Math.max(1, Math.min(this.#lease / bounds.renewalTriesPerTtl, left))
    this.#engine.schedule.put(this, this.#engine.clock.monotonic() + next)
    if (this.#renewing) return
    this.#renewing = true
    void this.#commands.renew(this.#claim, left).then((renewal) => this.#heard(renewal))
  }

  #heard(renewal: Renewal): void {
    this.#renewing = false
    if (this.#over) return
    if (renewal.kind === 'missing') return this.#lose('missing')
    if (renewal.kind === 'other') return this.#lose('taken')
    this.#unanswered = renewal.kind === 'failed'
    if (renewal.kind === 'failed') return
    this.#deadline = after(renewal.at, this.#lease - driftAllowance(this.#lease))
    this.#engine.schedule.put(this, renewal.at.monotonic + this.#lease / bounds.renewalsPerTtl)
  }

  #lose(reason: OutcomeUnknownReason): void {
    this.end()
    this.#lost = reason
    this.#abort(new OutcomeUnknownError(this.#about, reason))
  }

  #abort(reason: Error): void {
    this.#ending ??= { reason }
    this.#controller?.abort(reason)
  }

  #left(): number {
    return millisecondsUntil(this.#deadline, this.#engine.clock)
  }
}
