import { bounds } from '../defaults.ts'
import { parseDuration, type Duration } from '../duration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { encodePart, type LimitAddress } from '../name.ts'
import { checkFunction } from '../options.ts'
import type { Attempt } from '../store/attempt.ts'
import type { Answer } from '../store/contract.ts'
import { publicError } from '../store/failure.ts'
import type { Policy } from '../store/limit/policy.ts'
import { Decider } from './decider.ts'
import type { Decision } from './decision.ts'
import type { LimitEngine } from './limit-engine.ts'
import { MadeDecision } from './made-decision.ts'
import {
  checkLimiterOptions,
  checkPeekOptions,
  checkReserveOptions,
  checkTakeOptions,
  checkWaitOptions,
  type CheckedLimiterOptions,
  type CheckedTakeOptions,
  type LimiterOptions,
  type PeekOptions,
  type ReserveOptions,
  type TakeOptions,
  type WaitOptions,
} from './options.ts'
import { checkPolicies, type Policies } from './policy-set.ts'
import { Reservation } from './reservation.ts'
import type { SharedLimiter } from './shared-limiter.ts'

/**
 * Limits by subject (a user, an address, a key of an API). The object holds nothing of its own: limiters of one name within
 * a Holdfast instance share what they know, and all instances over one store share the counts.
 *
 * What it promises: every decision is one atomic step on the store, by the store's clock, over all its policies: all count,
 * or none does. A denial is a value, never an error, and counts nothing unless `countDenied`. Within the budget every call
 * settles: with a decision, or as `onStoreError` says when the store does not decide. What it does not: a store that loses
 * its data forgets what was used.
 */
export class Limiter {
  readonly name: string
  /** In the order given, with their names. */
  readonly policies: readonly Policy[]
  readonly #engine: LimitEngine
  readonly #shared: SharedLimiter
  readonly #options: CheckedLimiterOptions
  readonly #decider: Decider

  /** Made by `hf.limiter()`. */
  constructor(
    engine: LimitEngine,
    name: string,
    policies: Policy | readonly Policy[],
    options?: LimiterOptions,
  ) {
    encodePart(name, 'name')
    const checked = checkPolicies(policies)
    this.#options = checkLimiterOptions(options, checked)
    this.#engine = engine
    this.#shared = engine.shared(name, checked)
    this.#decider = new Decider(engine, this.#shared, this.#options)
    this.name = name
    this.policies = this.#shared.policies
  }

  /**
   * Decides about one call of a subject, and counts it if it is admitted. One round trip; none for a remembered denial or a
   * leased token. Settles within the budget. Resolves with a denial, too: look at `allowed`.
   *
   * @throws InvalidArgumentError, ClosedError, the signal's reason; and with `onStoreError: 'throw'` StoreUnavailableError
   *   or StoreRefusedError. With `outcome: 'unknown'` it may have been counted
   */
  take(subject: string, options?: TakeOptions): Promise<Decision> {
    try {
      const checked = checkTakeOptions(options)
      this.#engine.assertOpen()
      const take = (): MadeDecision | Promise<MadeDecision> => this.#decider.take(subject, checked.cost)
      const decided = checked.signal === null ? take() : this.#unlessAborted(checked, take)
      // Not `async`, which would wait for what is a promise already.
      return decided instanceof Promise ? decided : Promise.resolve(decided)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * What `take` of this cost would be answered now. Counts nothing. One round trip; sees blocks and refunds at once, and
   * tokens in a lease as used.
   *
   * @throws as `take`
   */
  async peek(subject: string, options?: PeekOptions): Promise<Decision> {
    const cost = checkPeekOptions(options)
    this.#engine.assertOpen()
    return this.#decider.peek(subject, cost)
  }

  /**
   * Gives back what a decision counted. Only what that take still counts: nothing when it is out of its window, and nothing a
   * second time. A slot is given back by it as well. One round trip.
   *
   * @param decision what `take` or `waitFor` of a limiter of this name resolved with, for this subject
   * @returns whether something was given back
   * @throws InvalidArgumentError, ClosedError, StoreUnavailableError, StoreRefusedError; it may be repeated then
   */
  async refund(subject: string, decision: Decision): Promise<boolean> {
    this.#decider.address(subject)
    this.#engine.assertOpen()
    const counted = MadeDecision.countedOf(decision)
    const ours = counted === null || (counted?.limiter === this.name && counted.subject === subject)
    if (counted === undefined || !ours) {
      throw new InvalidArgumentError('decision', decision, {
        problem:
          counted === undefined ? 'is no decision of a limiter' : 'is about another limiter or subject',
        remedy: 'Give the very object that take() or waitFor() resolved with, and its subject.',
      })
    }
    const given = await (decision as MadeDecision).giveBack()
    if (given) this.#shared.roomMade(subject)
    return given
  }

  /**
   * Forgets all usage of a subject: windows, buckets, slots, reservations. A block stays. One round trip. Other processes may
   * deny from memory for up to `rememberFor`.
   *
   * @throws InvalidArgumentError, ClosedError, StoreUnavailableError, StoreRefusedError
   */
  async reset(subject: string): Promise<void> {
    const { store } = this.#engine
    this.#shared.dropTokens(subject)
    await this.#command('Resetting', subject, 'reset-limit', (address, policies, attempt) =>
      store.reset({ address, policies }, attempt),
    )
    this.#shared.local.forget(subject)
    this.#shared.roomMade(subject)
  }

  /**
   * Denies everything for a subject from now on, for `duration` (1 ms to 365 days). Usage goes on as it was; a block that
   * stands is replaced, and no take changes it. One round trip. Other processes may give out leased tokens for up to a second.
   *
   * @throws InvalidArgumentError, ClosedError, StoreUnavailableError, StoreRefusedError
   */
  async block(subject: string, duration: Duration): Promise<void> {
    const ms = parseDuration(duration, 'duration', { min: 1, max: bounds.maxBlock })
    await this.#block(subject, ms, 'Blocking')
    this.#shared.dropTokens(subject)
    // What is remembered says less than the block.
    this.#shared.remembered.forget(subject)
  }

  /**
   * Ends a block. One round trip; nothing happens when there is none. Other processes may deny from memory for up to
   * `rememberFor`.
   *
   * @throws InvalidArgumentError, ClosedError, StoreUnavailableError, StoreRefusedError
   */
  async unblock(subject: string): Promise<void> {
    await this.#block(subject, 0, 'Unblocking')
    this.#shared.roomMade(subject)
  }

  /**
   * Waits until the subject has capacity, and takes it. In this process calls for one subject are served in the order in
   * which they came; only the first asks the store, when its last answer said that it may pass. With a leaky bucket it also
   * waits out the delay. Rejects at once when room can only come after `wait`. `take` does not queue and may go first.
   *
   * @returns an allowed decision
   * @throws RateLimitedError (says why, and when room comes), InvalidArgumentError, ClosedError, the signal's reason, and as
   *   `take` when the store fails
   */
  async waitFor(subject: string, options?: WaitOptions): Promise<Decision> {
    return this.#wait(subject, checkWaitOptions(options, 'waitFor'))
  }

  /**
   * Takes `cost` before the true cost is known, to be settled later. Not for slots.
   *
   * @returns the decision, and `settle(actual)` and `cancel()`, which do nothing when it was denied
   * @throws as `take`
   */
  async reserve(subject: string, options?: ReserveOptions): Promise<Reservation> {
    const { time, atEnd, ...checked } = checkReserveOptions(options)
    this.#engine.assertOpen()
    this.#refuseSlots('reserve')
    const returnAfter = atEnd === 'return' ? time : null
    const take = (): MadeDecision | Promise<MadeDecision> =>
      this.#decider.take(subject, checked.cost, { returnAfter, alone: true })
    const until = this.#engine.clock.monotonic() + time
    const decision = await this.#unlessAborted(checked, take)
    const counted = MadeDecision.countedOf(decision) ?? null
    const change = async (cost: number): Promise<boolean> => {
      if (counted === null || this.#engine.clock.monotonic() >= until) return false
      const changed = await counted.change(cost)
      if (changed && cost < decision.cost) this.#shared.roomMade(subject)
      return changed
    }
    return new Reservation({ decision, change })
  }

  /**
   * Waits for capacity as `waitFor` does, runs `work`, and gives the slot back when there is one. The work's error comes out
   * as it is; a slot that is lost meanwhile aborts `decision.slot.signal` and does not change how the run ends. A slot whose
   * return fails ends with its lease; the event `holdfast:store:error` tells.
   *
   * @throws what the work throws; and as `waitFor`, in which case the work did not run
   */
  async run<T>(
    subject: string,
    work: (decision: Decision) => T | PromiseLike<T>,
    options?: WaitOptions,
  ): Promise<T> {
    checkFunction(work, 'work', 'limiter.run(user, async (decision) => { … })')
    const decision = await this.#wait(subject, checkWaitOptions(options, 'run'))
    try {
      return await work(decision)
    } finally {
      await decision.slot?.release().catch(() => undefined)
    }
  }

  async #wait(
    subject: string,
    options: CheckedTakeOptions & { readonly wait: number },
  ): Promise<MadeDecision> {
    this.#engine.assertOpen()
    this.#decider.address(subject)
    const { cost, wait, signal } = options
    if (signal?.aborted === true) throw signal.reason
    return new Promise((resolve, reject) => {
      const ask = (): MadeDecision | Promise<MadeDecision> => this.#decider.take(subject, cost)
      this.#shared.line(subject).add({ cost, wait, signal, ask, resolve, reject }, this.#options.maxWaiting)
    })
  }

  /** A take whose caller goes away runs to its end; what it counted is given back then. */
  async #unlessAborted(
    { signal }: CheckedTakeOptions,
    take: () => MadeDecision | Promise<MadeDecision>,
  ): Promise<MadeDecision> {
    if (signal === null) return take()
    if (signal.aborted) throw signal.reason
    const taken = Promise.resolve(take())
    return new Promise((resolve, reject) => {
      const stop = this.#engine.aborts.add(signal, () => {
        reject(signal.reason)
        void taken.then((decision) => decision.giveBack()).catch(() => undefined)
      })
      taken.finally(stop).then(resolve, reject)
    })
  }

  async #block(subject: string, duration: number, verb: string): Promise<void> {
    const { store } = this.#engine
    await this.#command(verb, subject, 'block-limit', (address, policies, attempt) =>
      store.block({ address, policies, duration }, attempt),
    )
  }

  async #command(
    verb: string,
    subject: string,
    what: string,
    ask: (address: LimitAddress, policies: Policies, attempt: Attempt) => Promise<Answer<null>>,
  ): Promise<void> {
    const address = this.#decider.address(subject)
    this.#engine.assertOpen()
    const limits = this.#decider.limitsOf(subject)
    // Nothing is awaited in vain: what has begun is waited for when everything is closed.
    const policies = limits instanceof Promise ? await limits : limits
    this.#engine.assertOpen()
    const plan = { what, ask: (attempt: Attempt) => ask(address, policies, attempt) }
    const outcome = await this.#engine.operate(plan, this.#options.budget)
    if (outcome.kind === 'done') return
    throw publicError(outcome, `${verb} ${JSON.stringify(subject)} in the limit ${this.name}`)
  }

  #refuseSlots(call: string): void {
    const slots = this.policies.find(({ kind }) => kind === 'concurrency')
    if (slots === undefined) return
    throw new InvalidArgumentError(call, this.name, {
      problem: `has slots (policy ${JSON.stringify(slots.name)}), which are held and not reserved`,
      remedy: 'Use run() or take(), or a limiter of its own for the slots.',
    })
  }
}
