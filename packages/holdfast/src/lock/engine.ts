import { AbortHooks } from '../abort-hooks.ts'
import { Busy } from '../busy.ts'
import type { Clock, Randomness } from '../clock.ts'
import { bounds, driftAllowance } from '../defaults.ts'
import { ClosedError } from '../errors.ts'
import type { LockAddress } from '../name.ts'
import type {
  Answer,
  LockListener,
  LockStore,
  OwnerAsk,
  ReleaseResult,
  ServerIdentity,
  StoreTraits,
} from '../store/contract.ts'
import { events } from '../events/channels.ts'
import { Pauses } from '../pauses.ts'
import { Schedule } from '../schedule.ts'
import { Operation, type OperationListener, type OperationPlan, type Outcome } from '../store/operation.ts'
import { OwnerMint, processOf } from '../store/owner.ts'
import { Attention } from './attention.ts'
import { Contention } from './contention.ts'
import type { GrantedLease } from './granted-lease.ts'
import { RecentReleases } from './recent-releases.ts'
import { Release, type ReleaseOptions } from './release.ts'
import { settleOwner, type Unsettled } from './settlement.ts'
import { ClockWatches } from './clock-watch.ts'
import { LockTable, takeOut, type LockEntry } from './table.ts'

/** What an engine is built from. */
export interface EngineParts {
  readonly store: LockStore
  /** The store's kind, for events. */
  readonly storeKind: string
  readonly canWake: boolean
  /** What the store promises about the order of its fences. */
  readonly fences: StoreTraits['fences']
  /** Whose clock ends a lease; this machine's when left out. */
  readonly leaseClock?: StoreTraits['clock']
  readonly clock: Clock
  readonly randomness: Randomness
  /** Milliseconds for one operation on the store. */
  readonly budget: number
  readonly traceId: (() => string | undefined) | null
}

/** More keys than this are not stood back from at once. */
const MOST_STAND_BACKS = 1_000

/** What all locks of one Holdfast instance share: the store, the schedule, who holds, who waits, what is being tidied up. */
export class LockEngine implements LockListener {
  readonly store: LockStore
  readonly storeKind: string
  readonly canWake: boolean
  readonly fences: StoreTraits['fences']
  readonly clock: Clock
  readonly randomness: Randomness
  readonly budget: number
  readonly schedule: Schedule
  readonly foreground: Schedule
  readonly table: LockTable
  readonly recentReleases: RecentReleases
  /** The signals of those who wait. */
  readonly aborts = new AbortHooks()
  readonly #traceId: (() => string | undefined) | null
  readonly #mint: OwnerMint
  readonly #attention: Attention
  /** `null` where leases end by the clock of this very machine, which every deadline reads anyway. */
  readonly #clockWatch: ClockWatches | null
  /** Monotonic milliseconds until which our asks for a key let others go first, since our release woke one of them. The oldest first. */
  readonly #standBacks = new Map<string, number>()
  /** What goes on in the background, and acquires that were neither handed over nor failed yet. */
  readonly #busy: Busy
  readonly #pauses: Pauses
  #closed = false
  /** Monotonic milliseconds after which nothing is sent any more; infinite until it is closed. */
  #end = Infinity

  constructor(parts: EngineParts) {
    this.store = parts.store
    this.storeKind = parts.storeKind
    this.canWake = parts.canWake
    this.fences = parts.fences
    this.clock = parts.clock
    this.randomness = parts.randomness
    this.budget = parts.budget
    this.schedule = new Schedule(parts.clock)
    this.foreground = new Schedule(parts.clock, { keepAlive: true })
    this.table = new LockTable(parts.store.process)
    this.recentReleases = new RecentReleases(this)
    this.#attention = new Attention(parts.store, parts.clock, this.schedule, () => this.#longestHeld())
    this.#traceId = parts.traceId
    this.#clockWatch = parts.leaseClock === 'server' ? new ClockWatches() : null
    this.#mint = new OwnerMint(parts.store.process)
    this.#busy = new Busy(parts.clock)
    this.#pauses = new Pauses(parts.clock)
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

  newOwner(entry: LockEntry): string {
    const owner = this.#mint.next()
    entry.owners.push(owner)
    return owner
  }

  /** This owner will not be asked for again. */
  retire(owner: string, entry: LockEntry): void {
    if (takeOut(entry.owners, owner)) this.table.ended(entry)
  }

  /** Whether a lock is held by an owner of ours that nobody here holds any more: a grant whose answer was lost. */
  isAbandoned(owner: string, entry: LockEntry): boolean {
    return processOf(owner) === this.store.process && !entry.owners.includes(owner)
  }

  /** A trace id for the lock's value, or null. Only characters that keep the value readable. */
  trace(): string | null {
    try {
      const id: unknown = this.#traceId?.()
      if (id instanceof Promise) void id.catch(() => undefined)
      return typeof id === 'string' && /^[\w.-]{1,64}$/.test(id) ? id : null
    } catch {
      // What only serves to look at things must not keep a lock from being taken.
      return null
    }
  }

  // Operations --------------------------------------------------------------------------------------------------------

  /** @param budget milliseconds, when less than the engine's */
  operation<R>(plan: OperationPlan<R>, budget = this.budget, now = this.clock.monotonic()): Operation<R> {
    // Nothing outlasts the end; until it is known there is nothing to compute.
    const time = this.#end === Infinity ? budget : Math.min(budget, this.#end - now)
    return new Operation(this, plan, time, now)
  }

  /** One that closing waits for. */
  operate<R>(plan: OperationPlan<R>, budget?: number): Promise<Outcome<R>> {
    const outcome = this.operation(plan, budget).run()
    this.inBackground(outcome)
    return outcome
  }

  /** Releases an owner's lock, and lets our own waiters have their turn. */
  release(
    address: LockAddress,
    owner: string,
    options: ReleaseOptions = {},
  ): Promise<Outcome<ReleaseResult>> {
    return new Promise((resolve) => this.startRelease({ address, owner }, { ended: resolve }, options))
  }

  /** As {@link release}, for those who need no promise of it. */
  startRelease(
    ask: OwnerAsk,
    listener: OperationListener<ReleaseResult>,
    options: ReleaseOptions = {},
    now?: number,
  ): void {
    const release = new Release(this, ask, listener, options)
    this.operation(release, options.budget, now).start(release)
  }

  /** A lock of this process was released on the store. */
  wasReleased(key: string, wokeOther: boolean): void {
    if (!wokeOther) return this.table.find(key)?.contention?.nudge()
    const now = this.clock.monotonic()
    for (const [other, until] of this.#standBacks) {
      if (until > now && this.#standBacks.size < MOST_STAND_BACKS) break
      this.#standBacks.delete(other)
    }
    this.#standBacks.set(key, now + bounds.standBack)
  }

  /** One release in the background, tried once, for a lock whose time is over anyway. */
  releaseOnce(address: LockAddress, owner: string): void {
    this.inBackground(this.release(address, owner, { background: true, tries: 1 }))
  }

  /** Releases an owner, who was retired, until no copy of its acquire can be granted any more; in the background. */
  settle(address: LockAddress, owner: string, unsettled: Unsettled): void {
    this.inBackground(settleOwner(this, address, owner, unsettled))
  }

  /** Takes our entry out of a queue; in the background. An entry that stays is passed over when it is dead. */
  leaveQueue(address: LockAddress): void {
    void this.operate({
      what: 'leave',
      background: true,
      ask: (attempt) => this.store.leave({ address }, attempt),
    })
  }

  inBackground(work: Promise<unknown>): void {
    this.#busy.begin()
    void work.finally(() => this.#busy.ended())
  }

  /** Lets time pass for something in the background; a short one while all is closed, and over at once when everything ends. */
  pause(ms: number): Promise<void> {
    return this.#pauses.pause(ms)
  }

  // Holding and waiting -------------------------------------------------------------------------------------------------

  holds(lease: GrantedLease): void {
    // Whoever is granted a key knows that an older lease of it is gone, also of this very process.
    const { leases } = lease.entry
    let isLast = true
    for (const other of leases.length === 0 ? leases : [...leases]) {
      if (other.owner === lease.owner) continue
      if (other.fence < lease.fence) other.superseded()
      else isLast = false
    }
    if (!isLast) return lease.superseded()
    leases.push(lease)
    this.#attention.holds(1)
  }

  holdsNoMore(lease: GrantedLease): void {
    const { entry, owner } = lease
    this.schedule.remove(lease)
    const wasHeld = takeOut(entry.leases, lease)
    if (wasHeld) {
      this.#attention.holds(-1)
      entry.contention?.ownEnded(lease)
    }
    this.retire(owner, entry)
  }

  /** A lease was handed on: its owner is now another's. */
  handedOn(lease: GrantedLease): void {
    if (takeOut(lease.entry.leases, lease)) this.#attention.holds(-1)
  }

  /** An acquire has begun (1); it was handed over, or has failed (-1). Closing waits for it. */
  acquires(change: 1 | -1): void {
    if (change === 1) this.#busy.begin()
    else this.#busy.ended()
  }

  /** Hands a lease on to the next waiting call of this process, if there is one that can have it. */
  handsOn(lease: GrantedLease): boolean {
    return !this.#closed && (lease.entry.contention?.takeOver(lease) ?? false)
  }

  /** So many locks more (or fewer) are waited for. */
  waits(change: 1 | -1): void {
    this.#attention.waits(change)
  }

  #longestHeld(): number {
    let longest = 0
    for (const { leases } of this.table.all()) {
      for (const lease of leases) longest = Math.max(longest, lease.held)
    }
    return longest
  }

  /** The waiters for a lock; created when there are none yet. */
  contentionFor(entry: LockEntry): Contention {
    if (entry.contention === null) {
      entry.contention = new Contention(this, entry)
    }
    return entry.contention
  }

  /** Nobody waits for it any more. */
  contentionEnded(entry: LockEntry): void {
    entry.contention = null
    this.table.ended(entry)
  }

  /** Whether the next ask for this key is to let others go first. Once per release that woke another. */
  takesStandBack(key: string): boolean {
    if (this.#standBacks.size === 0) return false
    const until = this.#standBacks.get(key)
    return until !== undefined && this.#standBacks.delete(key) && this.clock.monotonic() < until
  }

  // What the store pushes -----------------------------------------------------------------------------------------------

  wake(key: string): void {
    this.table.find(key)?.contention?.nudge()
  }

  forced(key: string, owner: string): void {
    for (const lease of [...(this.table.find(key)?.leases ?? [])])
      if (lease.owner === owner) lease.lose('forced')
  }

  /**
   * Whoever holds asks at once whether it still stands, and whoever waits asks again: the server that was there before may have kept
   * grants and releases to itself.
   */
  epoch(before: ServerIdentity | null, after: ServerIdentity): void {
    if (before !== null && events.storeEpoch.hasSubscribers) {
      events.storeEpoch.publish({
        store: this.storeKind,
        server: after.server,
        previous: before.server,
        copies: after.copies,
        previousCopies: before.copies,
      })
    }
    for (const { contention, leases } of this.table.all()) {
      contention?.nudge()
      for (const lease of [...leases]) lease.check()
    }
  }

  /**
   * Holds the time in an answer against our own clock. When the server's was stepped forward, every lease of that server ends so much
   * earlier there, but for the one that the answer speaks of.
   *
   * @param sent when the request was sent, `arrived` when the answer came; monotonic milliseconds
   * @returns by how many ms it was stepped
   */
  watchClock(lease: GrantedLease, answer: Answer<unknown>, sent: number, arrived: number): number {
    const { ttl, entry } = lease
    const watches = this.#clockWatch
    if (watches === null) return 0
    const jump = watches.saw(entry, answer, { sent, arrived, allowance: driftAllowance(ttl) })
    if (jump === 0) return 0
    if (events.clockJump.hasSubscribers)
      events.clockJump.publish({ store: this.storeKind, jumpMs: Math.round(jump) })
    if (jump > 0) {
      for (const each of this.table.all()) {
        if (!watches.areAlike(each, entry)) continue
        for (const other of [...each.leases]) if (other !== lease) other.shorten(jump)
      }
    }
    return jump
  }

  gap(key?: string): void {
    const all =
      key === undefined ? this.table.all() : [this.table.find(key)].filter((one) => one !== undefined)
    for (const { contention, leases } of all) {
      contention?.nudge()
      for (const lease of [...leases]) lease.verify()
    }
  }

  moved(): void {
    if (!this.#closed) this.recentReleases.repeat()
  }

  // The end ---------------------------------------------------------------------------------------------------------------

  /**
   * Rejects who waits, gives back what is held (or leaves it to expire), and finishes what is being tidied up. Settles within
   * two budgets, whatever the store does.
   */
  async close(options: { release: boolean }): Promise<void> {
    this.#closed = true
    this.#end = this.clock.monotonic() + 2 * this.budget
    const entries = this.table.all()
    for (const { contention, asking } of entries) {
      contention?.close()
      for (const waiter of [...asking]) waiter.fail(new ClosedError())
    }
    for (const lease of entries.flatMap(({ leases }) => leases)) {
      if (options.release) this.inBackground(lease.end())
      else lease.leave()
    }
    // What pauses for longer tries now: there is not much time.
    this.#pauses.hurry()
    await this.#busy.idle(this.#end)
    this.#end = this.clock.monotonic()
    this.#pauses.hurry()
  }
}
