import type { Timer } from '../clock.ts'
import { bounds } from '../defaults.ts'
import { ClosedError, RateLimitedError, type RateLimitedReason } from '../errors.ts'
import { events, type HoldfastEvents } from '../events/channels.ts'
import type { Closing, LimitEngine } from './limit-engine.ts'
import type { MadeDecision } from './made-decision.ts'

/** What a waiting call wants, and how it is answered. */
export interface WaiterParts {
  readonly cost: number
  /** Milliseconds. */
  readonly wait: number
  readonly signal: AbortSignal | null
  /** One take. */
  readonly ask: () => MadeDecision | Promise<MadeDecision>
  readonly resolve: (decision: MadeDecision) => void
  readonly reject: (error: unknown) => void
}

interface Waiter extends WaiterParts {
  readonly since: number
  readonly deadline: number
  timer: Timer | null
  stopWatching: (() => void) | null
  settled: boolean
}

/** Where a line belongs. */
export interface LineParts {
  readonly engine: LimitEngine
  readonly limiter: string
  readonly subject: string
  /** The line is empty and may be forgotten. */
  readonly whenEmpty: () => void
}

/**
 * The calls of this process that wait for capacity for one subject, in the order in which they came. Only the first asks the
 * store, and only when its last answer said that it may pass; a large cost at the head is thus not starved by small ones
 * behind it. Who leaves wakes the next.
 */
export class WaitingLine implements Closing {
  readonly #parts: LineParts
  readonly #line: Waiter[] = []
  /** The one whose ask is out, or who sleeps until its next. */
  #head: Waiter | null = null
  #sleep: Timer | null = null
  /** Whether room was made while an ask was out: its answer may be older than that. */
  #nudged = false

  constructor(parts: LineParts) {
    this.#parts = parts
  }

  get length(): number {
    return this.#line.length
  }

  /** Adds a call at the end; it is answered within its wait and the budget of one take. */
  add(parts: WaiterParts, maxWaiting: number): void {
    const { engine } = this.#parts
    const since = engine.clock.monotonic()
    const waiter: Waiter = {
      ...parts,
      since,
      deadline: since + parts.wait,
      timer: null,
      stopWatching: null,
      settled: false,
    }
    if (this.#line.length >= maxWaiting) return this.#refuse(waiter, 'queue-full', null)
    if (this.#line.length === 0) engine.add(this)
    this.#line.push(waiter)
    const { signal } = parts
    if (signal !== null) {
      waiter.stopWatching = engine.aborts.add(signal, () => this.#fail(waiter, 'aborted', signal.reason))
    }
    if (this.#line.length === 1) return this.#serve()
    waiter.timer = engine.clock.setTimer(() => this.#refuse(waiter, 'timeout', null), parts.wait, {
      keepAlive: true,
    })
  }

  /** There may be room now. */
  nudge(): void {
    this.#nudged = true
    if (this.#sleep === null) return
    this.#stopSleeping()
    this.#ask()
  }

  close(): void {
    for (const waiter of [...this.#line]) this.#fail(waiter, 'closed', new ClosedError())
  }

  /** Lets the first in line ask. */
  #serve(): void {
    const first = this.#line[0] ?? null
    this.#head = first
    if (first === null) {
      this.#parts.engine.remove(this)
      return this.#parts.whenEmpty()
    }
    // Its own wait is looked at between its asks.
    first.timer?.cancel()
    this.#ask()
  }

  #ask(): void {
    const head = this.#head
    if (head === null) return
    this.#nudged = false
    let asked: MadeDecision | Promise<MadeDecision>
    try {
      asked = head.ask()
    } catch (error) {
      return this.#fail(head, 'failed', error)
    }
    Promise.resolve(asked).then(
      (decision) => this.#heard(head, decision),
      (error: unknown) => {
        if (!head.settled) this.#fail(head, 'failed', error)
      },
    )
  }

  #heard(head: Waiter, decision: MadeDecision): void {
    if (head.settled) {
      // It left while its ask was out: nobody wants what it took.
      void decision.giveBack().catch(() => undefined)
      return
    }
    if (decision.allowed) return this.#admit(head, decision)
    if (decision.never) return this.#refuse(head, 'never', decision)
    const now = this.#parts.engine.clock.monotonic()
    const left = head.deadline - now
    if (this.#nudged && left > 0) return this.#ask()
    const pause = this.#pauseAfter(decision, left)
    if (pause === null) return this.#refuse(head, head.wait === 0 ? 'denied' : 'timeout', decision)
    this.#sleep = this.#parts.engine.clock.setTimer(
      () => {
        this.#sleep = null
        this.#ask()
      },
      pause,
      { keepAlive: true },
    )
  }

  /**
   * How long to sleep before the next ask; `null` when no room can come within the wait, so that waiting is of no use. A slot
   * may be given back at any time, and nobody tells other processes.
   */
  #pauseAfter(decision: MadeDecision, left: number): number | null {
    if (left <= 0) return null
    const firm = decision.policies.some(({ kind, allowed }) => !allowed && kind !== 'concurrency')
    const slots = decision.policies.some(({ kind, allowed }) => !allowed && kind === 'concurrency')
    const retryAfter = decision.retryAfter ?? bounds.unknownRetryAfter
    if (slots && !firm && decision.policy !== 'block') return Math.min(retryAfter, left, bounds.slotPoll)
    if (decision.source === 'unavailable') return Math.min(retryAfter, left)
    return retryAfter <= left ? retryAfter : null
  }

  #admit(waiter: Waiter, decision: MadeDecision): void {
    if (decision.delay <= 0) {
      this.#leave(waiter, 'allowed')
      return waiter.resolve(decision)
    }
    const { clock } = this.#parts.engine
    if (decision.delay > waiter.deadline - clock.monotonic()) {
      void decision.giveBack().catch(() => undefined)
      return this.#refuse(waiter, waiter.wait === 0 ? 'denied' : 'timeout', decision)
    }
    this.#waitOut(waiter, decision)
  }

  /** It has its place; those behind may ask for theirs meanwhile. */
  #waitOut(waiter: Waiter, decision: MadeDecision): void {
    const { engine } = this.#parts
    this.#stepOut(waiter)
    const end = (settle: () => void): void => {
      timer.cancel()
      stopWatching?.()
      engine.remove(closing)
      settle()
    }
    const giveUp = (outcome: 'aborted' | 'closed', reason: unknown): void =>
      end(() => {
        void decision.giveBack().catch(() => undefined)
        this.#tell(waiter, outcome)
        waiter.reject(reason)
      })
    const timer = engine.clock.setTimer(
      () =>
        end(() => {
          this.#tell(waiter, 'allowed')
          waiter.resolve(decision)
        }),
      decision.delay,
      { keepAlive: true },
    )
    const { signal } = waiter
    const stopWatching =
      signal === null ? null : engine.aborts.add(signal, () => giveUp('aborted', signal.reason))
    const closing: Closing = { close: () => giveUp('closed', new ClosedError()) }
    engine.add(closing)
  }

  #refuse(waiter: Waiter, reason: RateLimitedReason, decision: MadeDecision | null): void {
    const { limiter, subject } = this.#parts
    const outcome = reason === 'denied' ? 'timeout' : reason
    this.#fail(waiter, outcome, new RateLimitedError(limiter, subject, reason, decision))
  }

  #fail(waiter: Waiter, outcome: HoldfastEvents['holdfast:limit:waited']['outcome'], error: unknown): void {
    if (waiter.settled) return
    this.#leave(waiter, outcome)
    waiter.reject(error)
  }

  #leave(waiter: Waiter, outcome: HoldfastEvents['holdfast:limit:waited']['outcome']): void {
    this.#tell(waiter, outcome)
    this.#stepOut(waiter)
  }

  /** Takes a waiter out of the line, and lets the next one ask when it was the first. */
  #stepOut(waiter: Waiter): void {
    waiter.settled = true
    waiter.timer?.cancel()
    waiter.stopWatching?.()
    const place = this.#line.indexOf(waiter)
    if (place !== -1) this.#line.splice(place, 1)
    if (waiter !== this.#head) return
    this.#stopSleeping()
    this.#head = null
    // In a turn of its own, so that a line that is closed is not served meanwhile.
    queueMicrotask(() => {
      if (this.#head === null) this.#serve()
    })
  }

  #stopSleeping(): void {
    this.#sleep?.cancel()
    this.#sleep = null
  }

  #tell(waiter: Waiter, outcome: HoldfastEvents['holdfast:limit:waited']['outcome']): void {
    if (!events.limitWaited.hasSubscribers) return
    const { engine, limiter, subject } = this.#parts
    const waited = engine.clock.monotonic() - waiter.since
    events.limitWaited.publish({ limiter, subject, cost: waiter.cost, waited, outcome })
  }
}
