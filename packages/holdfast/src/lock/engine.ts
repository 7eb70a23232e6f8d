import type { Clock, Randomness, Timer } from '../clock.ts'
import { bounds } from '../defaults.ts'
import { ClosedError } from '../errors.ts'
import type { LockAddress } from '../name.ts'
import type { LockListener, LockStore, OwnerAsk, ReleaseResult } from '../store/contract.ts'
import { Operation, type OperationPlan, type Outcome } from '../store/operation.ts'
import { OwnerMint, processOf } from '../store/owner.ts'
import { AbortHooks } from './abort-hooks.ts'
import { Contention } from './contention.ts'
import type { GrantedLease } from './granted-lease.ts'
import { Schedule } from './schedule.ts'
import { settleOwner, type Unsettled } from './settlement.ts'

/** What an engine is built from. */
export interface EngineParts {
  readonly store: LockStore
  /** The store's kind, for events. */
  readonly storeKind: string
  readonly canWake: boolean
  readonly clock: Clock
  readonly randomness: Randomness
  /** Milliseconds for one operation on the store. */
  readonly budget: number
  readonly traceId: (() => string | undefined) | null
}

/** How a release is sent, where it differs: not keeping the process alive, in less time (milliseconds), in fewer tries. */
export interface ReleaseOptions {
  readonly background?: boolean
  readonly budget?: number
  readonly tries?: number
}

/** What all locks of one Holdfast instance share: the store, the schedule, who holds, who waits, what is being tidied up. */
export class LockEngine implements LockListener {
  readonly store: LockStore
  readonly storeKind: string
  readonly canWake: boolean
  readonly clock: Clock
  readonly randomness: Randomness
  readonly budget: number
  readonly schedule: Schedule
  readonly contentions = new Map<string, Contention>()
  /** The signals of those who wait. */
  readonly aborts = new AbortHooks()
  readonly #traceId: (() => string | undefined) | null
  readonly #mint: OwnerMint
  /** Owners that are being asked for or held: of our process, but not in here, is dead. */
  readonly #live = new Set<string>()
  readonly #leases = new Map<string, GrantedLease>()
  /** Keys whose next waiter was woken by our release, and until when we let it go first. */
  readonly #standBack = new Map<string, number>()
  readonly #background = new Set<Promise<unknown>>()
  #listening: Timer | null = null
  #waiting = 0
  /** Acquires that were neither handed over nor failed yet. */
  #acquiring = 0
  #whenNoneAcquires: (() => void) | null = null
  /** Cancel asks of those who do not wait. */
  readonly #asks = new Set<() => void>()
  /** Cut pauses of what goes on in the background. */
  readonly #pauses = new Set<() => void>()
  #closed = false
  /** Monotonic milliseconds after which nothing is sent any more; infinite until it is closed. */
  #end = Infinity

  constructor(parts: EngineParts) {
    this.store = parts.store
    this.storeKind = parts.storeKind
    this.canWake = parts.canWake
    this.clock = parts.clock
    this.randomness = parts.randomness
    this.budget = parts.budget
    this.schedule = new Schedule(parts.clock)
    this.#traceId = parts.traceId
    this.#mint = new OwnerMint(parts.store.process)
    parts.store.listen(this)
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Whether nothing may be sent any more. */
  get over(): boolean {
    return this.clock.monotonic() >= this.#end
  }

  /** @throws ClosedError */
  assertOpen(): void {
    if (this.#closed) throw new ClosedError()
  }

  // Owners ------------------------------------------------------------------------------------------------------------

  newOwner(): string {
    const owner = this.#mint.next()
    this.#live.add(owner)
    return owner
  }

  /** This owner will not be asked for again. */
  retire(owner: string): void {
    this.#live.delete(owner)
  }

  /** Whether a lock is held by an owner of ours that nobody here holds any more: a grant whose answer was lost. */
  isAbandoned(owner: string): boolean {
    return processOf(owner) === this.store.process && !this.#live.has(owner)
  }

  /** A trace id for the lock's value, or null. Only characters that keep the value readable. */
  trace(): string | null {
    try {
      const id = this.#traceId?.()
      return typeof id === 'string' && /^[\w.-]{1,64}$/.test(id) ? id : null
    } catch {
      // What only serves to look at things must not keep a lock from being taken.
      return null
    }
  }

  // Operations --------------------------------------------------------------------------------------------------------

  /** @param budget milliseconds, when less than the engine's */
  operation<R>(plan: OperationPlan<R>, budget = this.budget): Operation<R> {
    // Nothing outlasts the end; until it is known there is nothing to compute.
    const time = this.#end === Infinity ? budget : Math.min(budget, this.#end - this.clock.monotonic())
    return new Operation(this, plan, time)
  }

  operate<R>(plan: OperationPlan<R>, budget?: number): Promise<Outcome<R>> {
    return this.operation(plan, budget).run()
  }

  /** Releases an owner's lock, and lets our own waiters have their turn. */
  release(
    address: LockAddress,
    owner: string,
    options: ReleaseOptions = {},
  ): Promise<Outcome<ReleaseResult>> {
    return new Promise((resolve) => this.startRelease({ address, owner }, options, resolve))
  }

  /** As {@link release}, for those who need no promise of it. */
  startRelease(
    ask: OwnerAsk,
    { budget, ...how }: ReleaseOptions,
    settle: (outcome: Outcome<ReleaseResult>) => void,
  ): void {
    const plan: OperationPlan<ReleaseResult> = {
      what: 'release',
      ...how,
      ask: (attempt) => this.store.release(ask, attempt),
    }
    this.operation(plan, budget).start((outcome) => {
      if (outcome.kind === 'done' && outcome.answer.result.kind === 'released') {
        this.#wasReleased(ask.address.key, outcome.answer.result.wokeOther)
      }
      settle(outcome)
    })
  }

  #wasReleased(key: string, wokeOther: boolean): void {
    if (wokeOther) this.#letOthersFirst(key)
    else this.contentions.get(key)?.nudge()
  }

  /** One release in the background, tried once, for a lock whose time is over anyway. */
  releaseOnce(address: LockAddress, owner: string): void {
    this.inBackground(this.release(address, owner, { background: true, tries: 1 }))
  }

  /** Releases an owner until no copy of its acquire can be granted any more; in the background. */
  settle(address: LockAddress, owner: string, unsettled: Unsettled): void {
    this.retire(owner)
    this.inBackground(settleOwner(this, address, owner, unsettled))
  }

  /** Takes our entry out of a queue; in the background. An entry that stays is passed over when it is dead. */
  leaveQueue(address: LockAddress): void {
    this.inBackground(
      this.operate({
        what: 'leave',
        background: true,
        ask: (attempt) => this.store.leave({ address }, attempt),
      }),
    )
  }

  inBackground(work: Promise<unknown>): void {
    this.#background.add(work)
    void work.finally(() => this.#background.delete(work))
  }

  /** Lets time pass for something in the background; less of it when everything ends. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel()
        this.#pauses.delete(end)
        resolve()
      }
      const timer = this.clock.setTimer(end, ms)
      this.#pauses.add(end)
    })
  }

  /** Calls `cancel` when it is closed, unless the returned function was called before. */
  whenClosed(cancel: () => void): () => void {
    this.#asks.add(cancel)
    return () => {
      this.#asks.delete(cancel)
    }
  }

  // Holding and waiting -------------------------------------------------------------------------------------------------

  holds(lease: GrantedLease): void {
    this.#leases.set(lease.owner, lease)
    this.#attend()
  }

  holdsNoMore(lease: GrantedLease): void {
    this.schedule.remove(lease)
    this.retire(lease.owner)
    if (!this.#leases.delete(lease.owner)) return
    this.#attend()
    this.contentions.get(lease.address.key)?.ownEnded(lease)
  }

  /** An acquire has begun (1); it was handed over, or has failed (-1). Closing waits for it. */
  acquires(change: 1 | -1): void {
    this.#acquiring += change
    if (this.#acquiring === 0) this.#whenNoneAcquires?.()
  }

  /** Hands a lease on to the next waiting call of this process, if there is one that can have it. */
  handsOn(lease: GrantedLease): boolean {
    return !this.#closed && (this.contentions.get(lease.address.key)?.takeOver(lease) ?? false)
  }

  /** So many locks more (or fewer) are waited for. */
  waits(change: 1 | -1): void {
    this.#waiting += change
    this.#attend()
  }

  /** Tells the store whether pushes are needed: at once for waiters, after a moment for holders, since most are quick. */
  #attend(): void {
    if (this.#waiting > 0) return this.store.attend(true)
    if (this.#leases.size === 0) {
      this.#listening?.cancel()
      this.#listening = null
      return this.store.attend(false)
    }
    this.#listening ??= this.clock.setTimer(() => {
      this.#listening = null
      if (this.#leases.size > 0) this.store.attend(true)
    }, bounds.listenAfter)
  }

  /** The waiters for a lock; created when there are none yet. */
  contentionFor(address: LockAddress): Contention {
    let contention = this.contentions.get(address.key)
    if (contention === undefined) {
      contention = new Contention(this, address.key)
      this.contentions.set(address.key, contention)
    }
    return contention
  }

  /** Whether the next ask for this key is to let others go first. Once per release that woke another. */
  takesStandBack(key: string): boolean {
    const until = this.#standBack.get(key)
    if (until === undefined) return false
    this.#standBack.delete(key)
    return this.clock.monotonic() < until
  }

  #letOthersFirst(key: string): void {
    const now = this.clock.monotonic()
    // Oldest first, so that this stays as small as what was released in the last moment.
    for (const [old, until] of this.#standBack) {
      if (until > now) break
      this.#standBack.delete(old)
    }
    this.#standBack.delete(key)
    this.#standBack.set(key, now + bounds.standBack)
  }

  // What the store pushes -----------------------------------------------------------------------------------------------

  wake(key: string): void {
    this.contentions.get(key)?.nudge()
  }

  forced(key: string, owner: string): void {
    const lease = this.#leases.get(owner)
    if (lease !== undefined && lease.address.key === key) lease.lose('forced')
  }

  gap(): void {
    for (const contention of this.contentions.values()) contention.nudge()
    for (const lease of this.#leases.values()) lease.verify()
  }

  // The end ---------------------------------------------------------------------------------------------------------------

  /**
   * Rejects who waits, gives back what is held (or leaves it to expire), and finishes what is being tidied up. Settles within
   * two budgets, whatever the store does.
   */
  async close(options: { release: boolean }): Promise<void> {
    this.#closed = true
    this.#end = this.clock.monotonic() + 2 * this.budget
    for (const contention of [...this.contentions.values()]) contention.close()
    for (const cancel of [...this.#asks]) cancel()
    for (const lease of [...this.#leases.values()]) {
      if (options.release) this.inBackground(lease.end())
      else lease.leave()
    }
    await this.#finishBackground()
    this.#end = this.clock.monotonic()
    for (const end of [...this.#pauses]) end()
    this.#listening?.cancel()
    this.#listening = null
  }

  async #finishBackground(): Promise<void> {
    let timer: Timer | undefined
    const enough = new Promise<'enough'>((resolve) => {
      timer = this.clock.setTimer(() => resolve('enough'), 2 * this.budget, { keepAlive: true })
    })
    while (this.#background.size > 0 || this.#acquiring > 0) {
      const done = Promise.allSettled([...this.#background, this.#noneAcquires()]).then(() => 'done' as const)
      if ((await Promise.race([done, enough])) === 'enough') break
    }
    timer?.cancel()
  }

  #noneAcquires(): Promise<void> {
    if (this.#acquiring === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#whenNoneAcquires = resolve
    })
  }
}
