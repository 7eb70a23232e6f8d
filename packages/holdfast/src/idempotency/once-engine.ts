import { AbortHooks } from '../abort-hooks.ts'
import { Bag, type Placed } from '../bag.ts'
import { Busy } from '../busy.ts'
import type { Clock, Randomness } from '../clock.ts'
import { ClosedError } from '../errors.ts'
import { KeyTable } from '../key-table.ts'
import { Pauses } from '../pauses.ts'
import { Schedule } from '../schedule.ts'
import type { OnceStore } from '../store/once/contract.ts'
import { Operation, type OperationListener, type OperationPlan, type Outcome } from '../store/operation.ts'
import { newProcessName, OwnerMint } from '../store/owner.ts'
import { SharedKey } from './shared-key.ts'

/** What an engine is built from. */
export interface OnceEngineParts {
  readonly store: OnceStore
  /** The store's kind, for events. */
  readonly storeKind: string
  readonly clock: Clock
  readonly randomness: Randomness
  /** Starts every key. */
  readonly prefix: string
  /** Milliseconds for one operation of the instance; closing takes at most two of them. */
  readonly budget: number
}

/** Something that waits or runs, and has to hear when everything ends. */
export interface Closing extends Placed {
  close(): void
}

/** What all idempotencies of one Holdfast instance share. */
export class OnceEngine {
  readonly store: OnceStore
  readonly storeKind: string
  readonly clock: Clock
  readonly randomness: Randomness
  readonly prefix: string
  /** One timer for the renewals of all runs, and for what goes on in the background. */
  readonly schedule: Schedule
  /** When operations are asked again for which the process stays alive. */
  readonly foreground: Schedule
  readonly aborts = new AbortHooks()
  readonly #budget: number
  readonly #mint: OwnerMint
  readonly #keys: KeyTable<SharedKey>
  readonly #closing = new Bag<Closing>()
  readonly #pauses: Pauses
  /** Operations under way, and works that run. */
  readonly #busy: Busy
  #closed = false
  /** Monotonic milliseconds after which nothing is sent any more; infinite until it is closed. */
  #end = Infinity

  constructor(parts: OnceEngineParts) {
    this.store = parts.store
    this.storeKind = parts.storeKind
    this.clock = parts.clock
    this.randomness = parts.randomness
    this.prefix = parts.prefix
    this.#budget = parts.budget
    this.schedule = new Schedule(parts.clock)
    this.foreground = new Schedule(parts.clock, { keepAlive: true })
    this.#busy = new Busy(parts.clock)
    this.#pauses = new Pauses(parts.clock)
    const process = newProcessName(parts.randomness)
    this.#mint = new OwnerMint(process)
    this.#keys = new KeyTable(process)
  }

  /** Whether nothing is sent any more. */
  get over(): boolean {
    return this.clock.monotonic() >= this.#end
  }

  /** @throws ClosedError */
  assertOpen(): void {
    if (this.#closed) throw new ClosedError()
  }

  /** An owner that nobody had before. */
  newOwner(): string {
    return this.#mint.next()
  }

  /** What the calls of one key share, from the first that comes to the last that goes. */
  enter(key: string): SharedKey {
    let shared = this.#keys.get(key)
    if (shared === undefined) this.#keys.add((shared = new SharedKey(key, this.clock, this.randomness)))
    shared.callers += 1
    return shared
  }

  leave(shared: SharedKey): void {
    shared.callers -= 1
    if (shared.callers > 0) return
    shared.rest()
    this.#keys.remove(shared)
  }

  /** @param budget milliseconds for the whole operation, its repeats included */
  start<R>(plan: OperationPlan<R>, budget: number, listener: OperationListener<R>): void {
    const time = this.#end === Infinity ? budget : Math.min(budget, this.#end - this.clock.monotonic())
    this.begin()
    new Operation(this, plan, time).start({
      ended: (outcome, operation) => {
        listener.ended(outcome, operation)
        this.ended()
      },
    })
  }

  operate<R>(plan: OperationPlan<R>, budget: number): Promise<Outcome<R>> {
    return new Promise((resolve) => this.start(plan, budget, { ended: resolve }))
  }

  /** Something began that closing waits for. */
  begin(): void {
    this.#busy.begin()
  }

  /** It ended. */
  ended(): void {
    this.#busy.ended()
  }

  /** A pause of what goes on in the background; a short one while all is closed, and over at once when everything ends. */
  pause(ms: number): Promise<void> {
    return this.#pauses.pause(ms)
  }

  /** To be told when everything ends. */
  add(closing: Closing): void {
    this.#closing.add(closing)
  }

  remove(closing: Closing): void {
    this.#closing.remove(closing)
  }

  /**
   * Rejects who waits, aborts the signals of works that run, and waits for these to end and for their outcomes to be stored.
   * Settles within two budgets, whatever the store and the works do.
   */
  async close(): Promise<void> {
    this.#closed = true
    this.#end = this.clock.monotonic() + 2 * this.#budget
    for (const closing of this.#closing.all()) closing.close()
    // What pauses for longer tries now: the store may be back.
    this.#pauses.hurry()
    await this.#busy.idle(this.#end)
    this.#end = this.clock.monotonic()
    this.#pauses.hurry()
  }
}
