import { instantOf, type Clock, type Instant, type Randomness } from '../../clock.ts'
import { bounds, driftAllowance } from '../../defaults.ts'
import { Schedule } from '../../schedule.ts'
import type { Attempt } from '../../store/attempt.ts'
import type { LockStore } from '../../store/contract.ts'
import { Ballot, type NodeAsk, type Votes } from './ballot.ts'
import type { Claim } from './claim.ts'
import { Claims } from './claims.ts'
import { GivingBack, type FirstAnswers } from './giving-back.ts'
import { majorityOf } from './majority.ts'

/** What a quorum is made of. */
export interface QuorumTerms {
  /** Milliseconds for one node to answer. */
  readonly nodeBudget: number
  /** The part of a lease that the nodes' clocks may gain on ours. */
  readonly drift: number
  /** Whether grants carry fences that rise over all nodes. */
  readonly fenced: boolean
}

/** What all calls of one opening share: the nodes, their budget, and what was asked of them. */
export class Quorum {
  readonly nodes: readonly LockStore[]
  readonly terms: QuorumTerms
  readonly clock: Clock
  readonly randomness: Randomness
  readonly majority: number
  readonly claims = new Claims()
  readonly givingBack: GivingBack
  readonly #schedule: Schedule
  readonly #wallAtStart: number

  constructor(nodes: readonly LockStore[], terms: QuorumTerms, clock: Clock, randomness: Randomness) {
    this.nodes = nodes
    this.terms = terms
    this.clock = clock
    this.randomness = randomness
    this.majority = majorityOf(nodes.length)
    this.#schedule = new Schedule(clock)
    this.#wallAtStart = clock.wall() - clock.monotonic()
    this.givingBack = new GivingBack({
      clock,
      schedule: this.#schedule,
      nodes,
      nodeBudget: terms.nodeBudget,
      ended: (claim) => this.claims.drop(claim),
    })
  }

  /** The quorum's own time, since its nodes have a clock each: this process's, carried on by its monotonic clock. */
  get time(): number {
    return Math.floor(this.#wallAtStart + this.clock.monotonic())
  }

  /**
   * How long a node keeps a lease. Every holder takes the usual allowance off its time; what the clocks may gain beyond that is
   * put on top here.
   */
  nodeTtl(ttl: number): number {
    return Math.ceil(ttl * (1 + this.terms.drift - bounds.driftShare))
  }

  /** Notes that a call begins: when it was sent, and until when it may be acted on, if that is bounded. */
  begin(attempt: Attempt, validFor: number | null): Instant {
    const sent = instantOf(this.clock)
    attempt.sent = sent
    if (validFor !== null) {
      const left = Math.min(attempt.validUntil - sent.monotonic, validFor)
      attempt.notAfter = Math.floor(this.#wallAtStart + sent.monotonic + left)
    }
    return sent
  }

  /** One round. @param until monotonic milliseconds */
  ask<R, V>(asks: readonly NodeAsk<R>[], judge: (votes: Votes<R>) => V | null, until: number): Promise<V> {
    return new Ballot(this.clock, this.#schedule, asks, judge, until).verdict
  }

  /** An acquire or a renewal is sent for it: so long a node may have a key of it. */
  prolongs(claim: Claim, ttl: number): void {
    const longest = this.nodeTtl(ttl) * (1 + this.terms.drift) + driftAllowance(ttl)
    claim.over = Math.max(claim.over, this.clock.monotonic() + 3 * this.terms.nodeBudget + longest)
  }

  /** Takes a claim off all nodes, in the background. It is never asked for again. */
  spend(claim: Claim): void {
    void this.release(claim)
  }

  /** As {@link spend}, for those who want to hear what the nodes answer first. */
  release(claim: Claim): FirstAnswers {
    claim.spent = true
    return this.givingBack.begin(claim)
  }
}
