import { after, millisecondsUntil, type Instant } from '../clock.ts'
import { bounds, driftAllowance } from '../defaults.ts'
import { ClosedError, SlotLostError, type SlotLossReason } from '../errors.ts'
import { events } from '../events/channels.ts'
import type { Scheduled } from '../schedule.ts'
import type { Counted, Renewal } from './counted.ts'
import type { Slot } from './decision.ts'
import type { Closing, LimitEngine } from './limit-engine.ts'

/** What stands behind a slot: on the store, or in this process while the store is down. */
export interface SlotKeeper extends Counted {
  /** Prolongs the slot to its full lease, within so many milliseconds. Never rejects. */
  renew(within: number): Promise<Renewal>
}

/** Where a slot lives. */
export interface SlotPlace {
  readonly engine: LimitEngine
  /** A slot was given back here: somebody may have been waiting for it. */
  readonly freed: (subject: string) => void
}

/**
 * One take of a concurrency limit: held, and renewed every third of its lease, until it is given back. As with locks,
 * `lost`, `signal.aborted` and the truth agree at the local deadline at the latest, whether the store can be reached or not.
 */
export class HeldSlot implements Slot, Scheduled, Closing {
  dueAt = 0
  readonly early: number
  heapIndex = -1
  readonly #place: SlotPlace
  readonly #keeper: SlotKeeper
  readonly #lease: number
  readonly #since: number
  readonly #controller = new AbortController()
  #deadline: Instant
  #renewing = false
  #unanswered = false
  #lost: SlotLossReason | null = null
  #released: Promise<boolean> | null = null
  #over = false

  /**
   * @param lease milliseconds
   * @param sent when the take was asked for: its lease counts from there
   */
  constructor(place: SlotPlace, keeper: SlotKeeper, lease: number, sent: Instant) {
    this.#place = place
    this.#keeper = keeper
    this.#lease = lease
    this.#since = place.engine.clock.monotonic()
    this.#deadline = after(sent, lease - driftAllowance(lease))
    this.early = lease / bounds.renewalTriesPerTtl
    place.engine.add(this)
    place.engine.schedule.put(this, sent.monotonic + lease / bounds.renewalsPerTtl)
  }

  get lost(): SlotLossReason | null {
    if (!this.#over && this.#left() <= 0) {
      this.#lose(this.#unanswered || this.#renewing ? 'unreachable' : 'expired')
    }
    return this.#lost
  }

  get signal(): AbortSignal {
    void this.lost
    return this.#controller.signal
  }

  release(): Promise<boolean> {
    if (this.lost !== null) return Promise.resolve(false)
    this.#end()
    this.#released ??= this.#keeper.change(0).then(
      (freed) => {
        this.#place.freed(this.#keeper.subject)
        return freed
      },
      (error: unknown) => {
        this.#released = null
        throw error
      },
    )
    return this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => undefined)
  }

  toJSON(): { held: boolean; lost: SlotLossReason | null } {
    const { lost } = this
    return { held: !this.#over, lost }
  }

  close(release: boolean): void {
    if (this.#over) return
    if (release) void this.release().catch(() => undefined)
    else this.#end()
    // Its work may go on, and is not covered any more.
    this.#controller.abort(new ClosedError())
  }

  onDue(): void {
    const left = this.#left()
    if (left <= 0) return void this.lost
    this.#wakeIn(Math.min(this.#lease / bounds.renewalTriesPerTtl, left))
    if (this.#renewing) return
    this.#renewing = true
    void this.#keeper.renew(left).then((renewal) => this.#heard(renewal))
  }

  #heard(renewal: Renewal): void {
    this.#renewing = false
    if (this.#over) return
    if (renewal.kind === 'missing') return this.#lose('missing')
    if (renewal.kind === 'failed') {
      this.#unanswered = true
      return
    }
    this.#unanswered = false
    const lease = this.#lease
    this.#deadline = after(renewal.at, lease - driftAllowance(lease))
    this.#place.engine.schedule.put(this, renewal.at.monotonic + lease / bounds.renewalsPerTtl)
  }

  #lose(reason: SlotLossReason): void {
    this.#end()
    this.#lost = reason
    const { limiter, subject } = this.#keeper
    if (events.slotLost.hasSubscribers) {
      const held = this.#place.engine.clock.monotonic() - this.#since
      events.slotLost.publish({ limiter, subject, reason, held })
    }
    this.#controller.abort(new SlotLostError(limiter, subject, reason))
  }

  #end(): void {
    this.#over = true
    this.#place.engine.remove(this)
    this.#place.engine.schedule.remove(this)
  }

  #left(): number {
    return millisecondsUntil(this.#deadline, this.#place.engine.clock)
  }

  #wakeIn(ms: number): void {
    this.#place.engine.schedule.put(this, this.#place.engine.clock.monotonic() + Math.max(1, ms))
  }
}
