import { after, millisecondsUntil, type Clock, type Instant } from '../clock.ts'
import { bounds } from '../defaults.ts'
import type { Scheduled } from '../schedule.ts'
import type { StoreFailure } from '../store/failure.ts'
import { capacityOf } from '../store/limit/policy.ts'
import type { Counted, StoreTake } from './counted.ts'
import type { DecisionParts } from './made-decision.ts'
import type { Closing, LimitEngine } from './limit-engine.ts'
import type { Policies } from './policy-set.ts'
import { RecentMap } from './recent-map.ts'

/** What the store said to a lease that was asked for: how long its tokens may be used, and what stands behind them. */
export interface GrantedTokens {
  readonly parts: DecisionParts
  readonly take: StoreTake
  /** When it was asked for. */
  readonly sent: Instant
}

/** The store did not decide. */
export interface NotDecided {
  readonly kind: 'refused' | 'unknown'
  readonly failure: StoreFailure
}

/**
 * Asks the store for a lease of so many tokens, within so many milliseconds; `null` when it has not that many. Never rejects.
 */
export type AskTokens = (
  subject: string,
  policies: Policies,
  tokens: number,
  budget: number,
) => Promise<GrantedTokens | NotDecided | null>

/** A take that was decided here, and the lease it came from. */
export interface FromLease {
  readonly parts: DecisionParts
  readonly counted: Counted
}

/** What becomes of a take: `null` when the store has to be asked about it alone. */
type FromLeases = FromLease | NotDecided | null

interface WaitingTake {
  readonly cost: number
  /** Monotonic milliseconds at which its budget is over. */
  readonly until: number
  readonly resolve: (from: FromLeases) => void
}

/**
 * Tokens that are taken in advance and given out without asking the store: one round trip for many takes.
 *
 * The bound: at any time a process holds fewer than `lease` unused tokens of a subject, each counted by the store already.
 * In any span, what all processes let through is therefore at most the limit + `lease` for each process. A fixed window is
 * not exceeded at all, since tokens are used within the window that counted them. Tokens are used within
 * `bounds.tokenLeaseLife` (and while the store counts them); then what is left is given back.
 */
export class TokenLeases implements Closing {
  readonly #engine: LimitEngine
  readonly #size: number
  readonly #ask: AskTokens
  readonly #subjects = new RecentMap<SubjectTokens>(bounds.leasedSubjects, (tokens) => tokens.end(true))

  /** @param size tokens of a lease, at most */
  constructor(engine: LimitEngine, size: number, ask: AskTokens) {
    this.#engine = engine
    this.#size = size
    this.#ask = ask
  }

  /**
   * A decision out of a lease, soon or at once; `null` when the store has to be asked about this take alone.
   *
   * @param until monotonic milliseconds at which the take's budget is over
   */
  take(
    subject: string,
    policies: Policies,
    cost: number,
    until: number,
  ): FromLease | Promise<FromLeases> | null {
    if (cost > this.#size || policies.some((policy) => cost > capacityOf(policy))) return null
    return this.#of(subject).take(policies, cost, until)
  }

  /** What is held of this subject is given back: its usage was reset, or it was blocked. */
  drop(subject: string): void {
    this.#subjects.get(subject)?.end(true)
    this.#subjects.delete(subject)
  }

  close(release: boolean): void {
    for (const tokens of this.#subjects.drain()) tokens.end(release)
  }

  #of(subject: string): SubjectTokens {
    const known = this.#subjects.get(subject)
    if (known !== undefined) return known
    if (this.#subjects.size === 0) this.#engine.add(this)
    const tokens = new SubjectTokens(this.#engine, this.#size, (policies, wanted, budget) =>
      this.#ask(subject, policies, wanted, budget),
    )
    this.#subjects.set(subject, tokens)
    return tokens
  }
}

/** The leases of one subject, and the takes that wait for more. */
class SubjectTokens implements Scheduled {
  dueAt = 0
  readonly early = 0
  heapIndex = -1
  readonly #engine: LimitEngine
  readonly #size: number
  readonly #ask: (policies: Policies, tokens: number, budget: number) => ReturnType<AskTokens>
  /** Oldest first. */
  #leases: Lease[] = []
  /** Tokens of all leases. */
  #left = 0
  /** Tokens that were asked for, and of which nothing was heard yet. */
  #asked = 0
  #waiting: WaitingTake[] = []
  /** Tokens that those who wait want together. */
  #demand = 0
  /** Several waited at once of late: then is asked at the end of a turn, when all have come, and for a lease beyond what they want. */
  #crowded = false
  #asksLater = false
  /** How many may be left unused, and one more: fewer where few are used, so that rare subjects hold little. */
  #wanted: number
  /** The store has less than a lease left: each take asks for itself until this, in monotonic milliseconds. */
  #singlyUntil = 0
  #ended = false

  constructor(
    engine: LimitEngine,
    size: number,
    ask: (policies: Policies, tokens: number, budget: number) => ReturnType<AskTokens>,
  ) {
    this.#engine = engine
    this.#size = size
    this.#wanted = size
    this.#ask = ask
  }

  take(policies: Policies, cost: number, until: number): FromLease | Promise<FromLeases> | null {
    const newest = this.#leases.at(-1)
    if (newest !== undefined && newest.policies !== policies) this.#giveUpLeases()
    const from = this.#give(cost)
    if (from !== null) return from
    if (this.#engine.clock.monotonic() < this.#singlyUntil) return null
    return new Promise((resolve) => {
      this.#waiting.push({ cost, until, resolve })
      this.#demand += cost
      if (this.#waiting.length > 1) this.#crowded = true
      if (this.#asked === 0 && !this.#crowded) this.#askForMore(policies, until)
      // Others may come to wait in this turn.
      else if (!this.#asksLater) this.#askLater(policies, until)
    })
  }

  /** So many tokens may come back to a lease: what is held and not used stays less than a lease. */
  takeBack(tokens: number): boolean {
    if (this.#left + this.#asked - this.#demand + tokens > this.#size) return false
    this.#left += tokens
    return true
  }

  end(giveBack: boolean): void {
    this.#ended = true
    if (giveBack) this.#giveUpLeases()
    else this.#forgetLeases()
    // Else they are answered when what was asked for is.
    if (this.#asked === 0) this.#answerAll(null)
  }

  /** The oldest lease's time is over, or that of several. */
  onDue(): void {
    const now = this.#engine.clock.monotonic()
    let used = 0
    while (this.#leases[0] !== undefined && this.#leases[0].until.monotonic <= now) {
      used += this.#leases[0].used
      this.#giveUpOldest()
    }
    this.#wanted = Math.max(1, Math.min(this.#size, 2 * used))
    this.#crowded = false
    this.#putOldest()
  }

  #give(cost: number): FromLease | null {
    const { clock } = this.#engine
    while (this.#leases.length > 1 && this.#leases[0]?.left === 0) this.#giveUpOldest()
    for (const lease of this.#leases) {
      if (!lease.take(cost, clock)) continue
      this.#left -= cost
      return (this.#leases.at(-1) as Lease).decision(this.#left, lease, cost, clock)
    }
    return null
  }

  /** For those who wait and for whom nothing was asked yet. */
  #askForMore(policies: Policies, until: number): void {
    const unspoken = this.#demand - this.#asked
    if (unspoken <= 0) return
    // Used up before their time.
    if (this.#leases.length > 0) this.#wanted = Math.min(this.#size, 2 * this.#wanted)
    // So many that less than one lease is left unused, with what is held and asked for already.
    const enough = this.#crowded ? this.#demand + this.#wanted - 1 : Math.max(this.#demand, this.#wanted)
    let tokens = Math.max(unspoken, enough - this.#left - this.#asked)
    // More than fits at all would be refused.
    for (const policy of policies) tokens = Math.min(tokens, capacityOf(policy))
    const budget = until - this.#engine.clock.monotonic()
    this.#asked += tokens
    void this.#ask(policies, tokens, budget).then((answer) => this.#heard(answer, policies, tokens))
  }

  #askLater(policies: Policies, until: number): void {
    this.#asksLater = true
    this.#engine.clock.endOfTurn(() => {
      this.#asksLater = false
      if (!this.#ended && this.#waiting.length > 0) this.#askForMore(policies, until)
    })
  }

  #heard(granted: GrantedTokens | NotDecided | null, policies: Policies, tokens: number): void {
    this.#asked -= tokens
    if (granted === null) {
      // Whoever waits asks for itself: there may be room for one where there is none for many.
      this.#singlyUntil = this.#engine.clock.monotonic() + bounds.tokenLeaseLife / 10
      return this.#answerAll(null)
    }
    if ('failure' in granted) return this.#answerAll(granted)
    const lease = new Lease(this, granted, policies)
    this.#leases.push(lease)
    this.#left += lease.left
    const waiting = this.#waiting
    this.#waiting = []
    this.#demand = 0
    for (const one of waiting) {
      const from = this.#give(one.cost)
      if (from !== null) one.resolve(from)
      else {
        this.#waiting.push(one)
        this.#demand += one.cost
      }
    }
    if (this.#ended) return this.#endNow()
    this.#putOldest()
    const [first] = this.#waiting
    if (first !== undefined) this.#askForMore(policies, first.until)
  }

  /** Whoever still waits asks for itself. */
  #endNow(): void {
    this.#giveUpLeases()
    this.#answerAll(null)
  }

  #answerAll(answer: NotDecided | null): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#demand = 0
    for (const { resolve } of waiting) resolve(answer)
  }

  #putOldest(): void {
    const [oldest] = this.#leases
    if (oldest === undefined) this.#engine.schedule.remove(this)
    else if (this.heapIndex < 0 || this.dueAt !== oldest.until.monotonic)
      this.#engine.schedule.put(this, oldest.until.monotonic)
  }

  #giveUpLeases(): void {
    while (this.#leases.length > 0) this.#giveUpOldest()
    this.#engine.schedule.remove(this)
  }

  #giveUpOldest(): void {
    const lease = this.#leases.shift()
    this.#left -= lease?.left ?? 0
    lease?.giveBack()
  }

  #forgetLeases(): void {
    this.#leases = []
    this.#left = 0
    this.#engine.schedule.remove(this)
  }
}

/** Tokens that the store has counted, and what is left of them. */
class Lease {
  readonly policies: Policies
  /** By the monotonic or the wall clock, whichever ends first: a machine that sleeps stops the former. */
  readonly until: Instant
  left: number
  readonly #tokens: SubjectTokens
  readonly #granted: GrantedTokens
  readonly #tokensGranted: number
  /** Given back to the store, or on the way there. */
  #returned = 0
  #ended = false

  constructor(tokens: SubjectTokens, granted: GrantedTokens, policies: Policies) {
    const { parts, take, sent } = granted
    this.#tokens = tokens
    this.#granted = granted
    this.policies = policies
    this.#tokensGranted = take.counts
    this.left = take.counts
    let counted: number = bounds.tokenLeaseLife
    // No longer than every policy counts them: until the window ends, or the bucket is full again.
    for (const { resetAfter } of parts.policies) counted = Math.min(counted, resetAfter)
    this.until = after(sent, counted)
  }

  get used(): number {
    return this.#granted.take.counts - this.left
  }

  /** Takes so many out of it, if it has them and its time is not over. */
  take(cost: number, clock: Clock): boolean {
    if (cost > this.left || millisecondsUntil(this.until, clock) <= 0) return false
    this.left -= cost
    return true
  }

  /**
   * What is said of a take, by what the store said last.
   *
   * @param left tokens of all leases
   * @param from the lease that they were taken out of
   */
  decision(left: number, from: Lease, cost: number, clock: Clock): FromLease {
    const { parts, sent } = this.#granted
    const resetAfter = Math.max(1, Math.ceil(parts.resetAfter - (clock.monotonic() - sent.monotonic)))
    const { allowed, never, limit, retryAfter, delay, policy, policies } = parts
    return {
      // One by one: to copy them all costs as much as the rest of this.
      parts: {
        allowed,
        never,
        remaining: parts.remaining + left,
        limit,
        retryAfter,
        resetAfter,
        delay,
        policy,
        policies,
        source: 'leased',
        cost,
      },
      counted: new LeasedTake(from, cost),
    }
  }

  get limiter(): string {
    return this.#granted.take.limiter
  }

  get subject(): string {
    return this.#granted.take.subject
  }

  /** In the background: if it fails, the tokens stay counted until their time. */
  giveBack(): void {
    this.#ended = true
    const { left } = this
    this.left = 0
    if (left === 0) return
    // For good: a refund after it, when it failed, gives them back as well.
    this.#returned += left
    void this.#settle().catch(() => undefined)
  }

  /** A take out of it counts so much less (or more, with a negative number). */
  change(back: number): Promise<boolean> {
    if (!this.#ended && back > 0 && this.#tokens.takeBack(back)) {
      this.left += back
      return Promise.resolve(true)
    }
    return this.#return(back)
  }

  async #return(tokens: number): Promise<boolean> {
    this.#returned += tokens
    try {
      return await this.#settle()
    } catch (error) {
      this.#returned -= tokens
      throw error
    }
  }

  /** Said as a whole, so that what is not known of one return does not give back twice with the next. */
  #settle(): Promise<boolean> {
    return this.#granted.take.change(Math.max(0, this.#tokensGranted - this.#returned))
  }
}

/** A take out of a lease. */
class LeasedTake implements Counted {
  readonly #lease: Lease
  #counts: number

  constructor(lease: Lease, cost: number) {
    this.#lease = lease
    this.#counts = cost
  }

  get limiter(): string {
    return this.#lease.limiter
  }

  get subject(): string {
    return this.#lease.subject
  }

  async change(cost: number): Promise<boolean> {
    const counted = this.#counts
    // At once, as the store's own takes do.
    this.#counts = cost
    try {
      return await this.#lease.change(counted - cost)
    } catch (error) {
      this.#counts = counted
      throw error
    }
  }
}
