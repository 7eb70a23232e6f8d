import { instantOf, type Instant } from '../clock.ts'
import { ClosedError } from '../errors.ts'
import type { LimitAddress } from '../name.ts'
import { publicError } from '../store/failure.ts'
import type { AdjustResult, RenewSlotResult } from '../store/limit/contract.ts'
import type { LimitEngine } from './limit-engine.ts'
import type { Policies } from './policy-set.ts'

/** What a decision counted, somewhere, and can be changed later. */
export interface Counted {
  readonly limiter: string
  readonly subject: string
  /**
   * Counts `cost` from now on; 0 gives all of it back.
   *
   * @returns false when it is over: nothing was changed
   */
  change(cost: number): Promise<boolean>
}

/** Repeats of a call with one id are told apart by the store for so many budgets. */
const BUDGETS_REMEMBERED = 2

/** A take that the store counted. */
export class StoreTake implements Counted {
  readonly id: string
  readonly address: LimitAddress
  readonly policies: Policies
  /** When it was counted, by the store's clock. */
  readonly at: number
  readonly #engine: LimitEngine
  readonly #budget: number
  #counts: number
  /** Settles when the change that is under way has ended; `null` when there is none. */
  #changing: Promise<void> | null = null
  /** The change whose outcome is not known: asked again, with the same id, before any other. */
  #unsure: { readonly id: string; readonly cost: number; readonly until: number } | null = null

  constructor(
    engine: LimitEngine,
    about: {
      id: string
      address: LimitAddress
      policies: Policies
      at: number
      cost: number
      budget: number
    },
  ) {
    this.#engine = engine
    this.id = about.id
    this.address = about.address
    this.policies = about.policies
    this.at = about.at
    this.#counts = about.cost
    this.#budget = about.budget
  }

  get limiter(): string {
    return this.address.limiter
  }

  get subject(): string {
    return this.address.subject
  }

  /** What it counts now. */
  get counts(): number {
    return this.#counts
  }

  /** @throws ClosedError; StoreUnavailableError, StoreRefusedError: it may be repeated then */
  async change(cost: number): Promise<boolean> {
    const until = this.#engine.clock.monotonic() + this.#budget
    // One after another: each begins with what the one before came to.
    while (this.#changing !== null) await this.#changing
    const changed = this.#changeTo(cost, until)
    const ended = (): void => {
      this.#changing = null
    }
    this.#changing = changed.then(ended, ended)
    return changed
  }

  async #changeTo(cost: number, until: number): Promise<boolean> {
    const unsure = this.#unsure
    if (unsure !== null) {
      // The store has forgotten the first ask by now: asked again, it might give back twice.
      if (this.#engine.clock.monotonic() > unsure.until) return false
      // What is counted now is known only when that has come to an end.
      if (unsure.cost !== cost && !(await this.#adjust(unsure.cost, until))) return false
    }
    return cost === this.#counts || this.#adjust(cost, until)
  }

  /** Asks the store, until some monotonic time. */
  async #adjust(cost: number, until: number): Promise<boolean> {
    if (this.#engine.over) throw new ClosedError()
    const { clock, store } = this.#engine
    const [taken, unsure, now] = [this.#counts, this.#unsure, clock.monotonic()]
    const id = unsure?.id ?? this.#engine.newId()
    const budget = Math.max(0, until - now)
    // At once, for those who look meanwhile.
    this.#counts = cost
    const { id: take, address, policies, at } = this
    const outcome = await this.#engine.operate<AdjustResult>(
      {
        what: 'adjust-limit',
        isLate: ({ kind }) => kind === 'late',
        ask: (attempt) => store.adjust({ address, policies, take, id, at, taken, cost }, attempt),
      },
      budget,
    )
    if (outcome.kind === 'done') {
      this.#unsure = null
      return outcome.answer.result.kind === 'done' && outcome.answer.result.adjusted
    }
    this.#counts = taken
    if (outcome.kind === 'unknown') {
      const known = now + BUDGETS_REMEMBERED * budget
      this.#unsure = { id, cost, until: Math.min(unsure?.until ?? Infinity, known) }
    }
    throw publicError(outcome, `Changing what ${JSON.stringify(this.subject)} has taken of ${this.limiter}`)
  }

  /** Prolongs its slots to their full lease, within so many milliseconds. Never rejects. */
  async renew(within: number): Promise<Renewal> {
    const { clock, store } = this.#engine
    const { id: take, address, policies } = this
    const began: Instant = instantOf(clock)
    const outcome = await this.#engine.operate<RenewSlotResult>(
      {
        what: 'renew-slot',
        background: true,
        validUntil: began.monotonic + within,
        isLate: ({ kind }) => kind === 'late',
        ask: (attempt) => store.renew({ address, policies, take }, attempt),
      },
      Math.min(within, this.#budget),
    )
    if (outcome.kind !== 'done') return { kind: 'failed' }
    if (outcome.answer.result.kind === 'missing') return { kind: 'missing' }
    return { kind: 'renewed', at: outcome.attempt.sent ?? began }
  }
}

/** How a renewal of slots went. `at`: when it was asked for; the lease counts from there. */
export type Renewal =
  | { readonly kind: 'renewed'; readonly at: Instant }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed' }
