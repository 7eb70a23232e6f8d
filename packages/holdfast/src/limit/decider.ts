import { instantOf, type Instant } from '../clock.ts'
import { InvalidArgumentError } from '../errors.ts'
import { events } from '../events/channels.ts'
import { limitAddress, type LimitAddress } from '../name.ts'
import { publicError, type StoreFailure } from '../store/failure.ts'
import type { TakeResult, Verdict } from '../store/limit/contract.ts'
import type { OperationPlan, Outcome } from '../store/operation.ts'
import type { Policy } from '../store/limit/policy.ts'
import { StoreTake, type Counted } from './counted.ts'
import type { Slot } from './decision.ts'
import type { LimitEngine } from './limit-engine.ts'
import { MadeDecision, partsOf, unknownParts, type DecisionParts } from './made-decision.ts'
import type { CheckedLimiterOptions } from './options.ts'
import { LimitsBySubject, SlotsApart, type Policies } from './policy-set.ts'
import type { SharedLimiter } from './shared-limiter.ts'
import { HeldSlot, type SlotKeeper } from './slot.ts'
import { TakePlan } from './take-plan.ts'
import type { AskTokens, NotDecided, TokenLeases } from './token-leases.ts'

/** A take, or what a peek asks about. */
interface Wish {
  readonly address: LimitAddress
  readonly policies: Policies
  readonly cost: number
  readonly returnAfter: number | null
  readonly peek: boolean
}

/** The slots of a take. */
interface HeldSlots {
  readonly keeper: SlotKeeper
  readonly slots: Policies
  /** When it was asked for. */
  readonly sent: Instant
}

type Decided = MadeDecision | Promise<MadeDecision>

/** How a take counts, where it is not the plain way. */
export interface TakeHow {
  /** Milliseconds after which the store gives it back by itself. */
  readonly returnAfter: number | null
  /** It needs a take of its own on the store: not out of a lease. */
  readonly alone: boolean
}

const PLAIN: TakeHow = { returnAfter: null, alone: false }

/**
 * How one limiter decides: from memory, out of a lease, by the store, or without it. One round trip at most, within the
 * budget; several when the store fails and is asked again.
 */
export class Decider {
  readonly #engine: LimitEngine
  readonly #shared: SharedLimiter
  readonly #options: CheckedLimiterOptions
  readonly #limits: LimitsBySubject
  readonly #apart = new SlotsApart()
  readonly #leases: TokenLeases | null

  constructor(engine: LimitEngine, shared: SharedLimiter, options: CheckedLimiterOptions) {
    this.#engine = engine
    this.#shared = shared
    this.#options = options
    this.#limits = new LimitsBySubject(shared.policies, options.limitFor, shared.known, {
      clock: engine.clock,
      budget: options.budget,
    })
    const { lease } = options
    this.#leases = lease === null ? null : shared.leases(lease, (...ask) => this.#askTokens(...ask))
  }

  /** @throws InvalidArgumentError when the subject cannot be part of a key */
  address(subject: string): LimitAddress {
    return limitAddress(this.#engine.prefix, this.#shared.name, subject)
  }

  /** The limits that hold for a subject. */
  limitsOf(subject: string): Policies | Promise<Policies> {
    return this.#limits.of(subject)
  }

  /** Decides one take. */
  take(subject: string, cost: number, { returnAfter, alone }: TakeHow = PLAIN): Decided {
    const address = this.address(subject)
    const policies = this.#limits.of(subject)
    if (policies instanceof Promise) {
      return policies.then((now) =>
        this.#take({ address, policies: now, cost, returnAfter, peek: false }, alone),
      )
    }
    return this.#take({ address, policies, cost, returnAfter, peek: false }, alone)
  }

  /** What a take would be answered now. Neither memory nor leases are asked. */
  peek(subject: string, cost: number): Decided {
    const address = this.address(subject)
    const policies = this.#limits.of(subject)
    const ask = (now: Policies): Decided => {
      this.#engine.assertOpen()
      return this.#ask({ address, policies: now, cost, returnAfter: null, peek: true })
    }
    return policies instanceof Promise ? policies.then(ask) : ask(policies)
  }

  #take(wish: Wish, alone: boolean): Decided {
    this.#engine.assertOpen()
    const { address, policies, cost } = wish
    if (this.#options.rememberFor > 0) {
      const denied = this.#shared.remembered.find(address.subject, cost, policies)
      if (denied !== null) return this.#engine.localAnswers.of(this.#tell(wish, this.#made(denied, null)))
    }
    if (this.#leases === null || alone) return this.#ask(wish)
    const until = this.#engine.clock.monotonic() + this.#options.budget
    const from = this.#leases.take(address.subject, policies, cost, until)
    if (from === null) return this.#ask(wish)
    if (!(from instanceof Promise))
      return this.#engine.localAnswers.of(this.#tell(wish, this.#made(from.parts, from.counted)))
    return from.then((given) => {
      if (given === null) return this.#ask(wish, until - this.#engine.clock.monotonic())
      if ('failure' in given) return this.#without(wish, given)
      return this.#tell(wish, this.#made(given.parts, given.counted))
    })
  }

  #ask(wish: Wish, budget = this.#options.budget): Decided {
    const { health, remembered } = this.#shared
    const passage = health.pass()
    if (passage === 'shut')
      return this.#without(wish, { kind: 'refused', failure: health.failure as StoreFailure })
    const { epoch } = remembered
    const began = instantOf(this.#engine.clock)
    const id = wish.peek ? '' : this.#engine.newId()
    return new Promise((resolve, reject) => {
      const ended = (outcome: Outcome<TakeResult>): void => {
        this.#engine.ended()
        health.ended(passage, outcome.kind === 'done' ? null : outcome.failure, this.#options.onStoreError)
        try {
          resolve(
            outcome.kind === 'done'
              ? this.#heard(wish, id, outcome, countedFrom(outcome, began), epoch)
              : this.#failed(wish, id, outcome),
          )
        } catch (error) {
          reject(error)
        }
      }
      this.#engine.start(this.#plan(wish, id), budget, { ended })
    })
  }

  #plan(wish: Wish, id: string): OperationPlan<TakeResult> {
    const { store } = this.#engine
    const { address, policies, cost, returnAfter } = wish
    if (wish.peek) {
      return {
        what: 'peek-limit',
        ask: async (attempt) => {
          const answer = await store.peek({ address, policies, cost }, attempt)
          return { ...answer, result: { kind: 'decided', ...answer.result } }
        },
      }
    }
    const { countDenied } = this.#options
    return new TakePlan(store, { address, policies, cost, id, countDenied, returnAfter })
  }

  #heard(
    wish: Wish,
    id: string,
    { answer: { result }, doubtful }: Outcome<TakeResult> & { kind: 'done' },
    sent: Instant,
    epoch: number,
  ): MadeDecision {
    if (result.kind === 'late') throw new Error('an operation never ends with late')
    const { address, policies, cost } = wish
    const parts = partsOf(policies, result, cost, 'store')
    if (wish.peek) return this.#made(parts, null)
    if (!result.allowed) {
      if (doubtful) this.#giveBackSlots(wish, id)
      const { rememberFor } = this.#options
      if (rememberFor > 0 && this.#shared.remembered.epoch === epoch)
        this.#shared.remembered.remember(address.subject, policies, parts, sent, rememberFor)
      return this.#tell(wish, this.#made(parts, null))
    }
    const { slots, others } = this.#apart.of(policies)
    const counted = others === null ? null : this.#storeTake(wish, others, id, result)
    if (slots === null) return this.#tell(wish, this.#made(parts, counted))
    const keeper = this.#storeTake(wish, slots, id, result)
    return this.#tell(wish, this.#made(parts, counted, { keeper, slots, sent }))
  }

  #storeTake(
    { address, cost }: Wish,
    policies: Policies,
    id: string,
    { at }: Pick<Verdict, 'at'>,
  ): StoreTake {
    return new StoreTake(this.#engine, { id, address, policies, at, cost, budget: this.#options.budget })
  }

  /** A take that may have been counted is not known: slots that it may hold are given back. */
  #failed(wish: Wish, id: string, outcome: NotDecided): MadeDecision {
    if (outcome.kind === 'unknown' && !wish.peek) this.#giveBackSlots(wish, id)
    return this.#without(wish, outcome)
  }

  #giveBackSlots(wish: Wish, id: string): void {
    const { slots } = this.#apart.of(wish.policies)
    if (slots === null) return
    const taken = this.#storeTake(wish, slots, id, { at: 0 })
    void taken.change(0).catch(() => undefined)
  }

  /**
   * Decides without the store, as the caller chose.
   *
   * @throws StoreUnavailableError or StoreRefusedError where it was to be thrown
   */
  #without(wish: Wish, outcome: NotDecided): MadeDecision {
    const { onStoreError } = this.#options
    const { name } = this.#shared
    // A mistake of the caller's is no trouble of the store's: nobody chose to let that pass.
    const mistaken = outcome.failure.cause instanceof InvalidArgumentError
    if (mistaken || onStoreError === 'throw') {
      throw publicError(
        outcome,
        `Deciding about ${JSON.stringify(wish.address.subject)} by the limit ${name}`,
      )
    }
    const made =
      onStoreError === 'local' ? this.#locally(wish) : this.#blindly(wish, onStoreError === 'allow')
    return wish.peek ? made : this.#tell(wish, made)
  }

  #locally({ address, policies, cost, returnAfter, peek }: Wish): MadeDecision {
    const { instances, countDenied } = this.#options
    const { local } = this.#shared
    const { subject } = address
    const ask = { subject, policies, instances, cost, id: this.#engine.newId(), countDenied, returnAfter }
    if (peek) return this.#made(partsOf(policies, local.peek(ask), cost, 'local'), null)
    const { verdict, counted } = local.take(ask)
    const parts = partsOf(policies, verdict, cost, 'local')
    if (!verdict.allowed) return this.#made(parts, null)
    const { slots, others } = this.#apart.of(policies)
    if (slots === null) return this.#made(parts, counted)
    const isSlots = ({ kind }: Policy): boolean => kind === 'concurrency'
    const keeper = counted.of(isSlots)
    const beside = others === null ? null : counted.of((policy) => !isSlots(policy))
    return this.#made(parts, beside, { keeper, slots, sent: instantOf(this.#engine.clock) })
  }

  #blindly({ address, policies, cost, peek }: Wish, allowed: boolean): MadeDecision {
    const parts = unknownParts(policies, cost, allowed)
    if (peek || !allowed) return this.#made(parts, null)
    const { limiter, subject } = address
    const keeper: SlotKeeper = {
      limiter,
      subject,
      change: async () => true,
      renew: async () => ({ kind: 'renewed', at: instantOf(this.#engine.clock) }),
    }
    const { slots } = this.#apart.of(policies)
    const slot = slots === null ? null : this.#slot({ keeper, slots, sent: instantOf(this.#engine.clock) })
    return new MadeDecision(parts, null, this.#options.shadow, slot)
  }

  /**
   * @param counted what was counted beside the slots; `null` where that is nothing
   * @param held what was counted as slots: given back alone when the work is over, for what came in stays counted
   */
  #made(parts: DecisionParts, counted: Counted | null, held: HeldSlots | null = null): MadeDecision {
    const { shadow } = this.#options
    if (held === null) return new MadeDecision(parts, counted, shadow)
    return new MadeDecision(parts, counted ?? held.keeper, shadow, this.#slot(held), counted !== null)
  }

  #slot({ keeper, slots, sent }: HeldSlots): Slot {
    const lease = Math.min(
      ...slots.map((policy) => (policy.kind === 'concurrency' ? policy.lease : Infinity)),
    )
    const freed = (subject: string): void => this.#shared.roomMade(subject)
    return new HeldSlot({ engine: this.#engine, freed }, keeper, lease, sent)
  }

  /** A lease of tokens is a take like any other. Denied ones are not counted: it is asked for again, singly. */
  async #askTokens(
    subject: string,
    policies: Policies,
    tokens: number,
    budget: number,
  ): ReturnType<AskTokens> {
    const { health } = this.#shared
    const passage = health.pass()
    if (passage === 'shut') return { kind: 'refused', failure: health.failure as StoreFailure }
    const wish: Wish = {
      address: this.address(subject),
      policies,
      cost: tokens,
      returnAfter: null,
      peek: false,
    }
    const began = instantOf(this.#engine.clock)
    const id = this.#engine.newId()
    const outcome = await this.#engine.operate(this.#plan(wish, id), budget)
    health.ended(passage, outcome.kind === 'done' ? null : outcome.failure, this.#options.onStoreError)
    if (outcome.kind !== 'done') return outcome
    const { result } = outcome.answer
    if (result.kind === 'late' || !result.allowed) return null
    return {
      parts: partsOf(policies, result, tokens, 'leased'),
      take: this.#storeTake(wish, wish.policies, id, result),
      sent: countedFrom(outcome, began),
    }
  }

  #tell({ address: { limiter, subject }, cost }: Wish, decision: MadeDecision): MadeDecision {
    if (!events.limitDecided.hasSubscribers) return decision
    const { allowed, wouldDeny, never, remaining, limit, retryAfter, policy, source } = decision
    const about = { limiter, subject, cost, allowed, wouldDeny, never, remaining, limit, retryAfter }
    events.limitDecided.publish({ ...about, policy, source })
    return decision
  }
}

/**
 * From when on what a take counted is held. Asked again it answers as before, and counts from when it was counted, which may have
 * been at the first ask.
 */
function countedFrom({ attempt, doubtful }: Outcome<TakeResult> & { kind: 'done' }, began: Instant): Instant {
  return doubtful ? began : (attempt.sent ?? began)
}
