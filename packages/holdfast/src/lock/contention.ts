import type { Timer } from '../clock.ts'
import { bounds } from '../defaults.ts'
import { ClosedError, LockTimeoutError } from '../errors.ts'
import type { Holder, QueueManners } from '../store/contract.ts'
import { publicError, type StoreFailure } from '../store/failure.ts'
import { Acquisition, type Asker, type AskResult } from './acquisition.ts'
import type { LockEngine } from './engine.ts'
import type { GrantedLease } from './granted-lease.ts'
import { delayOf } from './retry.ts'
import type { LockEntry } from './table.ts'
import type { Waiter } from './waiter.ts'

/**
 * The waiters of this process for one lock. One of them contends: it asks the store, and stands in the store's queue for all.
 * The others stand in line behind it, so that many waiters cost the server one.
 */
export class Contention implements Asker {
  readonly #engine: LockEngine
  readonly #entry: LockEntry
  /** A list of one is made as such: one that is empty and grows makes room for many. */
  #line: Waiter[] = []
  /** Who was seen to hold the lock last. */
  #holder: Holder | null = null
  /** Whether an entry of ours may stand in the store's queue. */
  #stands = false
  /** Counts wake-ups, so that one that comes while an ask is in flight is kept. */
  #nudges = 0
  /** How many there had been when the first in line asked. */
  #nudgesBefore = 0
  /** The sleep of the first in line. */
  #wakeUp: { readonly wake: () => void; readonly cancel: () => void } | null = null
  /** Whether the last sleep was to end with the holder's lease, before the poll was due. */
  #cutShort = false
  /** A lease of ours that the waiters get one after the other, without asking the store. */
  #own: GrantedLease | null = null
  /** Ends the wait for a lease of ours that is not handed on in its time. */
  #patience: Timer | null = null
  /** Whether the store was told that we want to be woken. Not before the first "busy": most locks are free. */
  #attending = false
  #ended = false

  constructor(engine: LockEngine, entry: LockEntry) {
    this.#engine = engine
    this.#entry = entry
  }

  /** Adds a waiter at the end of the line. Settles it within its wait and one budget. */
  add(waiter: Waiter): void {
    if (this.#line.length === 0) {
      this.#line = [waiter]
      return this.#begin(waiter, waiter.since)
    }
    this.#line.push(waiter)
    // The first in line watches its own time, between its asks.
    const left = Math.max(0, waiter.deadline - waiter.since)
    waiter.timer = this.#engine.clock.setTimer(() => this.#timeOut(waiter), left, { keepAlive: true })
  }

  /** The lock may be free: ask now. */
  nudge(): void {
    this.#nudges += 1
    this.#wakeUp?.wake()
  }

  /** Gives a lease of ours to the first in line, when it does not ask for one of its own. */
  takeOver(lease: GrantedLease): boolean {
    const waiter = this.#line[0]
    if (waiter === undefined || lease !== this.#own || waiter.acquisition !== null) return false
    if (!lease.couldPassTo(waiter.wish)) return false
    this.#give(waiter, lease.passTo(waiter.wish))
    return true
  }

  /** A lease of this process ended otherwise: who waited for it now asks. */
  ownEnded(lease: GrantedLease): void {
    if (lease !== this.#own) return
    this.#own = null
    this.#askAfterAll()
  }

  /** The first in line has waited for a lease of ours, which it does not get. */
  #askAfterAll(): void {
    this.#patience?.cancel()
    this.#patience = null
    const waiter = this.#line[0]
    if (waiter !== undefined && waiter.acquisition === null) this.#begin(waiter)
  }

  /** Takes a waiter out at once; what it had asked for is cleared away in the background. */
  cancel(waiter: Waiter, error: unknown): void {
    if (waiter.settled) return
    const next = this.#takeOut(waiter)
    waiter.fail(error)
    this.#goOn(next, waiter)
  }

  close(): void {
    for (const waiter of [...this.#line].reverse()) this.cancel(waiter, new ClosedError())
  }

  #timeOut(waiter: Waiter): void {
    const { address } = waiter.wish
    this.cancel(waiter, new LockTimeoutError(address.name, waiter.waited, this.#holder?.owner ?? null))
  }

  #ask(waiter: Waiter, woken: boolean, now = this.#engine.clock.monotonic()): void {
    // It may be asked before its sleep is over; another ask at the end of that would run into this one.
    this.#wakeUp?.cancel()
    this.#wakeUp = null
    waiter.asks += 1
    waiter.acquisition ??= new Acquisition(this.#engine, waiter.wish)
    this.#nudgesBefore = this.#nudges
    const giveUpAt = waiter.deadline + this.#engine.budget
    waiter.acquisition.start(this.#manners(waiter, woken), giveUpAt, this.#followers(waiter), this, now)
  }

  /** What the ask of the first in line came to. */
  heard(result: AskResult): void {
    const waiter = this.#line[0]
    if (waiter === undefined) throw new Error('who asks is the first in line')
    const { clock } = this.#engine
    if (result.kind === 'granted') {
      this.#stands = false
      // Handed over: settling must not clear it away.
      waiter.acquisition = null
      return this.#give(waiter, result.lease)
    }
    if (result.kind === 'busy') this.#holder = result.holder
    else if (!this.#recovers(waiter, result)) return
    if (clock.monotonic() >= waiter.deadline) return this.#timeOut(waiter)
    this.#attend()
    // A wake-up that came meanwhile is answered at once.
    if (this.#nudges !== this.#nudgesBefore) return this.#ask(waiter, true)
    this.#sleep(waiter, result.kind !== 'busy')
  }

  #give(waiter: Waiter, lease: GrantedLease): void {
    const next = this.#takeOut(waiter)
    this.#own = lease
    if (next !== null) this.#holder = { owner: lease.owner, fence: lease.fence, remaining: lease.remaining() }
    waiter.grant(lease)
    this.#goOn(next, waiter)
  }

  /** Makes a waiter the one who asks. */
  #begin(waiter: Waiter, now?: number): void {
    waiter.timer?.cancel()
    this.#ask(waiter, false, now)
  }

  /** How many of those behind a waiter could get its lease after it. */
  #followers({ wish, retry }: Waiter): number {
    const { handOver, ttl } = wish
    if (handOver === null || retry !== null) return 0
    let count = 0
    for (let i = 1; i < this.#line.length && count < handOver.grants - 1; i += 1) {
      const behind = this.#line[i] as Waiter
      if (behind.wish.ttl === ttl && behind.wish.handOver !== null && behind.retry === null) count += 1
    }
    return count
  }

  /** After a failure: goes on under a new owner while there is time, else rejects. */
  #recovers(waiter: Waiter, failed: { kind: 'refused' | 'unknown'; failure: StoreFailure }): boolean {
    const { clock } = this.#engine
    const { wish, deadline } = waiter
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
    const join = waiter.retry === null
    const stands = this.#stands
    if (join) this.#stands = true
    const standsBack = this.#engine.takesStandBack(waiter.wish.address.key)
    return { join, stands, yield: standsBack && !woken }
  }

  /**
   * Sleeps until it is worth asking again, or a wake-up, or the end of the wait. When the time runs out in its sleep it asks
   * once more: a wake-up may have been lost.
   */
  #sleep(waiter: Waiter, failed: boolean): void {
    const { clock } = this.#engine
    let delay: number
    try {
      delay = failed
        ? bounds.pauseBetweenTries * (1 + this.#engine.randomness.fraction())
        : this.#delay(waiter)
    } catch (error) {
      // A `retry` of the caller's own making.
      return this.cancel(waiter, error)
    }
    const left = Math.max(0, Math.min(delay, waiter.deadline - clock.monotonic()))
    const nudges = this.#nudges
    const wake = (): void => {
      this.#wakeUp = null
      timer.cancel()
      this.#ask(waiter, this.#nudges !== nudges)
    }
    const timer = clock.setTimer(wake, left, { keepAlive: true })
    this.#wakeUp = { wake, cancel: () => timer.cancel() }
  }

  #delay(waiter: Waiter): number {
    const { randomness, canWake } = this.#engine
    const fraction = randomness.fraction()
    const { retry } = waiter
    if (retry !== null) return delayOf(retry, waiter.asks, fraction)
    const poll = (canWake ? bounds.safetyPoll : bounds.storePoll) * (0.75 + fraction / 2)
    // A lease that ends sooner is asked for when it ends; spread out, since all who wait know the time. Not twice in a row:
    // a short lease is renewed again and again, and its end is none.
    const remaining = this.#holder?.remaining ?? Infinity
    this.#cutShort = !this.#cutShort && remaining < poll
    return this.#cutShort ? Math.min(poll, remaining + 1 + fraction * bounds.storePoll) : poll
  }

  /** Takes a waiter out of the line. Who is first then, and was not before, is the next to ask. */
  #takeOut(waiter: Waiter): Waiter | null {
    if (this.#line[0] !== waiter) {
      this.#line.splice(this.#line.indexOf(waiter), 1)
      return null
    }
    this.#line.shift()
    const wakeUp = this.#wakeUp
    this.#wakeUp = null
    wakeUp?.cancel()
    return this.#line[0] ?? null
  }

  #goOn(next: Waiter | null, last: Waiter): void {
    if (this.#ended) return
    if (next !== null) {
      // Who listens to events may have ended it, or made it ask, while the last one was told.
      if (next !== this.#line[0] || next.acquisition !== null) return
      // What is held here comes to it when it is given back; asking would only find it busy.
      const own = next.retry === null && this.#own?.couldPassTo(next.wish) === true ? this.#own : null
      if (own === null) return this.#begin(next)
      this.#patience ??= this.#engine.clock.setTimer(() => this.#askAfterAll(), own.handOverLeft)
    } else if (this.#line.length === 0) {
      this.#end(last)
    }
  }

  #attend(): void {
    if (this.#attending) return
    this.#attending = true
    this.#engine.waits(1)
  }

  #end(last: Waiter): void {
    this.#ended = true
    this.#patience?.cancel()
    this.#engine.contentionEnded(this.#entry)
    if (this.#attending) this.#engine.waits(-1)
    if (this.#stands) this.#engine.leaveQueue(last.wish.address)
  }
}
