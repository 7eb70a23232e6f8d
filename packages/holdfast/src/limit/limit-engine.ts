import { AbortHooks } from '../abort-hooks.ts'
import { Busy } from '../busy.ts'
import type { Clock, Randomness } from '../clock.ts'
import { ClosedError, InvalidArgumentError } from '../errors.ts'
import { Schedule } from '../schedule.ts'
import type { LimitStore } from '../store/limit/contract.ts'
import { Operation, type OperationListener, type OperationPlan, type Outcome } from '../store/operation.ts'
import { idOf, newProcessName, OwnerMint } from '../store/owner.ts'
import { LocalAnswers } from './local-answers.ts'
import { describePolicies, type Policies } from './policy-set.ts'
import { SharedLimiter } from './shared-limiter.ts'

/** What a limit engine is built from. */
export interface LimitEngineParts {
  readonly store: LimitStore
  /** The store's kind, for events. */
  readonly storeKind: string
  readonly clock: Clock
  readonly randomness: Randomness
  /** Starts every key. */
  readonly prefix: string
  /** Milliseconds for one operation of the instance; closing takes at most two of them. */
  readonly budget: number
}

/** Something that holds or waits, and has to end when everything does. */
export interface Closing {
  /** Ends it; what is to be sent for that is begun before this returns. */
  close(release: boolean): void
}

/** What all limiters of one Holdfast instance share. */
export class LimitEngine {
  readonly store: LimitStore
  readonly storeKind: string
  readonly clock: Clock
  readonly prefix: string
  /** One timer for the renewals of all slots and the ends of all token leases. */
  readonly schedule: Schedule
  /** When operations are asked again for which the process stays alive. */
  readonly foreground: Schedule
  readonly aborts = new AbortHooks()
  readonly localAnswers: LocalAnswers
  readonly #budget: number
  readonly #mint: OwnerMint
  readonly #limiters = new Map<string, SharedLimiter>()
  readonly #closing = new Set<Closing>()
  readonly #busy: Busy
  #closed = false
  /** Monotonic milliseconds after which nothing is sent any more; infinite until it is closed. */
  #end = Infinity

  constructor(parts: LimitEngineParts) {
    this.store = parts.store
    this.storeKind = parts.storeKind
    this.clock = parts.clock
    this.prefix = parts.prefix
    this.#budget = parts.budget
    this.schedule = new Schedule(parts.clock)
    this.foreground = new Schedule(parts.clock, { keepAlive: true })
    this.#busy = new Busy(parts.clock)
    this.localAnswers = new LocalAnswers(parts.clock)
    this.#mint = new OwnerMint(newProcessName(parts.randomness))
  }

  /** Whether nothing is sent any more. */
  get over(): boolean {
    return this.clock.monotonic() >= this.#end
  }

  /** @throws ClosedError */
  assertOpen(): void {
    if (this.#closed) throw new ClosedError()
  }

  /** An id: one for each take, and for each change of one. */
  newId(): string {
    return idOf(this.#mint.next())
  }

  /**
   * What the limiters of one name share; created when there is none yet.
   *
   * @throws InvalidArgumentError when there is one with other policies
   */
  shared(name: string, policies: Policies): SharedLimiter {
    const known = this.#limiters.get(name)
    if (known === undefined) {
      const shared = new SharedLimiter(this, name, policies)
      this.#limiters.set(name, shared)
      return shared
    }
    const [ours, theirs] = [describePolicies(known.policies), describePolicies(policies)]
    if (ours === theirs) return known
    throw new InvalidArgumentError('name', name, {
      problem: `is the name of a limiter with other policies: it has ${ours}; now it was given ${theirs}`,
      remedy: 'Give the same policies, another name, or other limits for some subjects by limitFor.',
    })
  }

  /**
   * Begins an operation whose listener says that it has {@link ended}.
   *
   * @param budget milliseconds for the whole operation, its repeats included
   */
  start<R>(plan: OperationPlan<R>, budget: number, listener: OperationListener<R>): void {
    const time = this.#end === Infinity ? budget : Math.min(budget, this.#end - this.clock.monotonic())
    this.#busy.begin()
    new Operation(this, plan, time).start(listener)
  }

  /** An operation that was begun has ended. */
  ended(): void {
    this.#busy.ended()
  }

  operate<R>(plan: OperationPlan<R>, budget: number): Promise<Outcome<R>> {
    return new Promise((resolve) => {
      this.start(plan, budget, {
        ended: (outcome) => {
          this.ended()
          resolve(outcome)
        },
      })
    })
  }

  /** To be ended when everything is. */
  add(closing: Closing): void {
    this.#closing.add(closing)
  }

  remove(closing: Closing): void {
    this.#closing.delete(closing)
  }

  /**
   * Rejects who waits, gives back slots and tokens in advance (or leaves them to end by themselves). Settles within two
   * budgets, whatever the store does.
   */
  async close({ release }: { release: boolean }): Promise<void> {
    this.#closed = true
    this.#end = this.clock.monotonic() + 2 * this.#budget
    for (const closing of [...this.#closing]) closing.close(release)
    await this.#busy.idle(this.#end)
    this.#end = this.clock.monotonic()
  }
}
