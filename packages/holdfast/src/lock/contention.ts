import type { Timer } from '../clock.ts'
import { bounds } from '../defaults.ts'
import { ClosedError, LockTimeoutError } from '../errors.ts'
import type { Holder, QueueManners } from '../store/contract.ts'
import { publicError, type StoreFailure } from '../store/failure.ts'
import { Acquisition, type LockWish } from './acquisition.ts'
import type { LockEngine } from './engine.ts'
import type { GrantedLease } from './granted-lease.ts'
import type { Retry } from './retry.ts'

/** One waiting call: what it wants, until when, and how it is told. */
export interface WaiterParts {
  readonly wish: LockWish
  /** Monotonic milliseconds: when the wait is over. */
  readonly deadline: number
  /** How it asks again; `null` to stand in the queue. */
  readonly retry: Retry | null
  readonly resolve: (lease: GrantedLease) => void
  readonly reject: (error: unknown) => void
}

/** A call that waits for a lock. It is settled once. */
export class Waiter {
  readonly parts: WaiterParts
  readonly since: number
  settled = false
  acquisition: Acquisition | null = null
  timer: Timer | null = null

  constructor(parts: WaiterParts, now: number) {
    this.parts = parts
    this.since = now
  }
}

/**
 * The waiters of this process for one lock. One of them contends: it asks the store, and stands in the store's queue for all.
 * The others stand in line behind it, so that many waiters cost the server one.
 */
export class Contention {
  readonly #engine: LockEngine
  readonly #key: string
  readonly #line: Waiter[] = []
  /** Who was seen to hold the lock last. */
  #holder: Holder | null = null
  /** Whether an entry of ours may stand in the store's queue. */
  #stands = false
  /** Counts wake-ups, so that one that comes while an ask is in flight is kept. */
  #nudges = 0
  #wakeUp: (() => void) | null = null
  /** Whether the last sleep was to end with the holder's lease, before the poll was due. */
  #cutShort = false
  /** Whether the store was told that we want to be woken. Not before the first "busy": most locks are free. */
  #attending = false

  constructor(engine: LockEngine, key: string) {
    this.#engine = engine
    this.#key = key
  }

  /** Adds a waiter at the end of the line. Settles it within its wait and one budget. */
  add(parts: WaiterParts): Waiter {
    const { clock } = this.#engine
    const waiter = new Waiter(parts, clock.monotonic())
    this.#line.push(waiter)
    if (this.#line.length === 1) {
      this.#begin(waiter)
    } else {
      // The first in line watches its own time, between its asks.
      const left = Math.max(0, parts.deadline - waiter.since)
      waiter.timer = clock.setTimer(() => this.#timeOut(waiter), left, { keepAlive: true })
    }
    return waiter
  }

  /** The lock may be free: ask now. */
  nudge(): void {
    this.#nudges += 1
    this.#wakeUp?.()
  }

  /** Takes a waiter out at once; what it had asked for is cleared away in the background. */
  cancel(waiter: Waiter, error: unknown): void {
    this.#settle(waiter, () => waiter.parts.reject(error))
  }

  close(): void {
    for (const waiter of [...this.#line].reverse()) this.cancel(waiter, new ClosedError())
  }

  #timeOut(waiter: Waiter): void {
    const { clock } = this.#engine
    const waited = clock.monotonic() - waiter.since
    this.cancel(
      waiter,
      new LockTimeoutError(waiter.parts.wish.address.name, waited, this.#holder?.owner ?? null),
    )
  }

  #begin(waiter: Waiter): void {
    this.#contend(waiter).catch((error: unknown) => this.cancel(waiter, error))
  }

  /** Asks for the first in line until it is settled. */
  async #contend(waiter: Waiter): Promise<void> {
    const { clock, budget } = this.#engine
    const { wish, deadline } = waiter.parts
    waiter.timer?.cancel()
    let woken = false
    for (let asks = 1; !waiter.settled; asks += 1) {
      const nudges = this.#nudges
      waiter.acquisition ??= new Acquisition(this.#engine, wish)
      const result = await waiter.acquisition.ask(this.#manners(waiter, woken), deadline + budget)
      if (waiter.settled) {
        // Granted in the very moment in which it was cancelled.
        if (result.kind === 'granted') result.lease.disown()
        return
      }
      if (result.kind === 'granted') {
        this.#stands = false
        // Handed over: settling must not clear it away.
        waiter.acquisition = null
        return this.#settle(waiter, () => waiter.parts.resolve(result.lease))
      }
      if (result.kind === 'busy') this.#holder = result.holder
      else if (!this.#recovers(waiter, result)) return
      if (clock.monotonic() >= deadline) return this.#timeOut(waiter)
      this.#attend()
      // When the time runs out in its sleep it asks once more: a wake-up may have been lost.
      if (this.#nudges === nudges) await this.#sleep(waiter, asks, result.kind !== 'busy')
      woken = this.#nudges !== nudges
    }
  }

  /** After a failure: goes on under a new owner while there is time, else rejects. */
  #recovers(waiter: Waiter, failed: { kind: 'refused' | 'unknown'; failure: StoreFailure }): boolean {
    const { clock } = this.#engine
    const { wish, deadline } = waiter.parts
    if (!failed.failure.final && clock.monotonic() < deadline) {
      waiter.acquisition?.abandon()
      waiter.acquisition = null
      return true
    }
    this.cancel(waiter, publicError(failed, `Acquiring the lock ${JSON.stringify(wish.address.name)}`))
    return false
  }

  /** Who was woken has been let in by the others: if it stood back, nobody would come. */
  #manners(waiter: Waiter, woken: boolean): QueueManners {
    const join = waiter.parts.retry === null
    const stands = this.#stands
    if (join) this.#stands = true
    const standsBack = this.#engine.takesStandBack(this.#key)
    return { join, stands, yield: standsBack && !woken }
  }

  /** Sleeps until it is worth asking again, or a wake-up, or the end of the wait. */
  #sleep(waiter: Waiter, asks: number, failed: boolean): Promise<void> {
    const { clock } = this.#engine
    const delay = failed
      ? bounds.pauseBetweenTries * (1 + this.#engine.randomness.fraction())
      : this.#delay(waiter, asks)
    const left = Math.max(0, Math.min(delay, waiter.parts.deadline - clock.monotonic()))
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel()
        if (this.#wakeUp === wake) this.#wakeUp = null
        resolve()
      }
      const timer = clock.setTimer(wake, left, { keepAlive: true })
      this.#wakeUp = wake
    })
  }

  #delay(waiter: Waiter, asks: number): number {
    const { randomness, canWake } = this.#engine
    const fraction = randomness.fraction()
    const { retry } = waiter.parts
    if (retry !== null) return retry.delay(asks, fraction)
    const poll = (canWake ? bounds.safetyPoll : bounds.storePoll) * (0.75 + fraction / 2)
    // A lease that ends sooner is asked for when it ends; spread out, since all who wait know the time. Not twice in a row:
    // a short lease is renewed again and again, and its end is none.
    const remaining = this.#holder?.remaining ?? Infinity
    this.#cutShort = !this.#cutShort && remaining < poll
    return this.#cutShort ? Math.min(poll, remaining + 1 + fraction * bounds.storePoll) : poll
  }

  #settle(waiter: Waiter, tell: () => void): void {
    if (waiter.settled) return
    waiter.settled = true
    waiter.timer?.cancel()
    waiter.acquisition?.abandon()
    const place = this.#line.indexOf(waiter)
    this.#line.splice(place, 1)
    tell()
    if (place !== 0) return
    this.#wakeUp?.()
    const next = this.#line[0]
    if (next !== undefined) this.#begin(next)
    else this.#end(waiter)
  }

  #attend(): void {
    if (this.#attending) return
    this.#attending = true
    this.#engine.waits(1)
  }

  #end(last: Waiter): void {
    this.#engine.contentions.delete(this.#key)
    if (this.#attending) this.#engine.waits(-1)
    if (this.#stands) this.#engine.leaveQueue(last.parts.wish.address)
  }
}
