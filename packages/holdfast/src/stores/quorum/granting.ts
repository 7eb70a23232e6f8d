import { driftAllowance } from '../../defaults.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { Attempt } from '../../store/attempt.ts'
import type { AcquireAsk, AcquireResult, Answer, LockStore, RaiseResult } from '../../store/contract.ts'
import { asStoreFailure, StoreFailure } from '../../store/failure.ts'
import type { NodeAsk, Vote, Votes } from './ballot.ts'
import type { Claim } from './claim.ts'
import { Identities, NOT_APART } from './identities.ts'
import { impossible, judgeAcquire, judgeRaise, mayBeDone, type AcquireVerdict } from './majority.ts'
import { NodeAttempt } from './node-attempt.ts'
import type { Quorum } from './quorum.ts'
import type { Standing } from './standing.ts'

/** Rounds in which a fence is confirmed, or raised and confirmed. */
const MOST_CONFIRMATIONS = 2

/** Rounds of a grant: it is taken, and with fences its fence is confirmed. Each has a node's budget. */
const roundsOf = (quorum: Quorum): number => 1 + (quorum.terms.fenced ? MOST_CONFIRMATIONS : 0)

/** What a round of acquires came to, and how each node voted. */
type Round = AcquireVerdict & { readonly votes: Votes<AcquireResult> }

/** How a quorum grants: a round to take the lock on a majority, and with fences further ones to confirm the fence. */
export class Granting {
  readonly #quorum: Quorum
  readonly #identities: Identities
  readonly #onSplit: (key: string, took: number) => void

  /** @param onSplit hears of a lock that nobody had the majority of, and how many milliseconds it took to see that */
  constructor(quorum: Quorum, onSplit: (key: string, took: number) => void) {
    this.#quorum = quorum
    this.#onSplit = onSplit
    this.#identities = new Identities(quorum.clock, quorum.nodes)
  }

  /** Asks for an owner. Asked again while the first ask is under way, it shares that one's answer. */
  acquire(ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>> {
    const { claims, clock, nodes, terms } = this.#quorum
    const sent = this.#quorum.begin(attempt, roundsOf(this.#quorum) * terms.nodeBudget)
    const known = claims.get(ask.owner)
    if (known?.spent === true) return Promise.reject(usedUp())
    if (known !== null && known.asking !== null) {
      attempt.sent = known.askedAt
      return known.asking.then(asAgain)
    }
    const claim = known ?? claims.make(ask, nodes.length, clock.monotonic())
    claim.askedAt = sent
    const asking = this.#acquire(claim, ask, attempt).finally(() => {
      claim.asking = null
    })
    claim.asking = asking
    return asking
  }

  async #acquire(claim: Claim, ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>> {
    const { claims } = this.#quorum
    try {
      this.#assertWorthwhile(ask.ttl)
      if (!this.#identities.begun) await this.#identities.begin(this.#now + this.#nodeBudget / 2)
      this.#identities.assertApart()
    } catch (error) {
      claims.drop(claim)
      throw error
    }
    const again = claim.fence !== null
    const round = await this.#round(claim, ask, attempt).catch((error: unknown) => {
      if (!claim.spent) this.#quorum.spend(claim)
      throw error
    })
    if (claim.spent) throw usedUp()
    if (round.kind === 'granted') {
      const fence = claim.fence ?? (await this.#confirmed(claim))
      this.#assertValid(claim, ask.ttl)
      claim.fence = fence
      return this.#answer({ kind: 'granted', fence, again })
    }
    if (round.kind === 'late') {
      claims.drop(claim)
      return this.#answer({ kind: 'late' })
    }
    this.#quorum.spend(claim)
    if (round.kind === 'busy') {
      if (round.split && ask.queue.join) this.#onSplit(ask.address.key, this.#now - this.#askedAt(claim))
      return this.#answer({ kind: 'busy', holder: round.holder })
    }
    throw this.#impossible(round.votes)
  }

  #askedAt({ askedAt }: Claim): number {
    return askedAt?.monotonic ?? -Infinity
  }

  #answer(result: AcquireResult): Answer<AcquireResult> {
    return { result, serverTime: this.#quorum.time, maybeTwice: false }
  }

  get #now(): number {
    return this.#quorum.clock.monotonic()
  }

  get #nodeBudget(): number {
    return this.#quorum.terms.nodeBudget
  }

  /** Takes the lock, on all nodes at once. */
  #round(claim: Claim, ask: AcquireAsk, attempt: Attempt): Promise<Round> {
    const { nodes, majority } = this.#quorum
    const until = this.#now + this.#nodeBudget
    this.#quorum.prolongs(claim, ask.ttl)
    // Asked again, only what has stood all the time counts: elsewhere another may have held it meanwhile.
    const stood =
      claim.fence === null ? null : claim.standings.map(({ state, fence }) => state === 'member' && fence)
    const counts = (vote: Vote<AcquireResult> | null, node: number): Vote<AcquireResult> | null => {
      if (stood === null || vote?.kind !== 'answered') return vote
      const { result } = vote.answer
      return result.kind !== 'granted' || result.fence === stood[node] ? vote : { kind: 'unasked' }
    }
    return this.#quorum.ask<AcquireResult, Round>(
      nodes.map((_node, i) => () => {
        const own = new NodeAttempt(attempt, until)
        return this.takeAt(i, claim, ask, own, stood === null ? 'member' : 'joining')
      }),
      (votes) => {
        assertApart(votes)
        const verdict = judgeAcquire(votes.map(counts), majority)
        return verdict === null ? null : { ...verdict, votes: [...votes] }
      },
      until,
    )
  }

  /** Takes the lock on one node, after that has told who it is. */
  takeAt(
    node: number,
    claim: Claim,
    ask: AcquireAsk,
    attempt: NodeAttempt,
    as: 'joining' | 'member',
  ): Promise<Answer<AcquireResult>> {
    if (!this.#identities.isVerified(node)) {
      return this.#identities.verify(node, attempt.until).then(() => {
        this.#identities.assertApart()
        if (claim.spent || attempt.abandoned) throw usedUp()
        return this.#take(node, claim, ask, attempt, as)
      })
    }
    return this.#take(node, claim, ask, attempt, as)
  }

  #take(
    node: number,
    claim: Claim,
    { address, owner, trace, ttl, queue }: AcquireAsk,
    attempt: NodeAttempt,
    as: 'joining' | 'member',
  ): Promise<Answer<AcquireResult>> {
    const standing = claim.standings[node] as Standing
    standing.asks(attempt)
    const nodeAsk = { address, owner, trace, ttl: this.#quorum.nodeTtl(ttl), queue }
    return (this.#quorum.nodes[node] as LockStore).acquire(nodeAsk, attempt).then(
      (answer) => {
        standing.answered(answer, attempt, as)
        return answer
      },
      (error: unknown) => {
        const failure = asStoreFailure(error)
        standing.failed(failure, attempt)
        throw failure
      },
    )
  }

  /** The fence of a grant. With fences it is one that a majority has agreed to. */
  async #confirmed(claim: Claim): Promise<bigint> {
    let fence = highestFence(claim.standings)
    if (!this.#quorum.terms.fenced) return fence
    for (let round = 1; ; round += 1) {
      const verdict = await this.#confirm(claim, fence)
      if (claim.spent) throw usedUp()
      if (verdict.kind === 'confirmed') return fence
      if (verdict.kind === 'again' && round < MOST_CONFIRMATIONS) {
        // What was granted meanwhile is known as well.
        const known = highestFence(claim.standings)
        fence = verdict.fence > known ? verdict.fence : known
        continue
      }
      this.#quorum.spend(claim)
      throw verdict.kind === 'impossible' ? this.#impossible(verdict.votes) : gone()
    }
  }

  #confirm({ address, owner }: Claim, fence: bigint) {
    const { nodes, majority } = this.#quorum
    const until = this.#now + this.#nodeBudget
    return this.#quorum.ask(
      nodes.map((node): NodeAsk<RaiseResult> => {
        const attempt = new NodeAttempt(null, until)
        return () => (node as Required<LockStore>).raise({ address, owner, fence }, attempt)
      }),
      (votes: Votes<RaiseResult>) => {
        const verdict = judgeRaise(votes, majority)
        return verdict === null ? null : { ...verdict, votes: [...votes] }
      },
      until,
    )
  }

  /** A lease must outlast what it takes to get it. */
  #assertWorthwhile(ttl: number): void {
    const longest = roundsOf(this.#quorum) * this.#nodeBudget
    if (longest < ttl - driftAllowance(ttl)) return
    const cause = new InvalidArgumentError('ttl', ttl, {
      problem: `is not longer than what a grant may take (${longest} ms) and the allowance for clocks that run apart`,
      remedy: 'Give a longer ttl, or quorumStore a shorter nodeBudget.',
    })
    const parts = { kind: 'refused', outcome: 'not-done', final: true, reason: 'ttl', cause } as const
    throw new StoreFailure(cause.message, parts)
  }

  /** A grant whose time has passed is none. */
  #assertValid(claim: Claim, ttl: number): void {
    const left = this.#askedAt(claim) + ttl - driftAllowance(ttl) - this.#now
    if (left > 0) return
    this.#quorum.spend(claim)
    throw failed('the quorum granted it only after its time was over', 'granted-late')
  }

  #impossible(votes: Votes<AcquireResult> | Votes<RaiseResult>): StoreFailure {
    const { majority } = this.#quorum
    const did = ({ result }: Answer<AcquireResult | RaiseResult>): boolean => result.kind === 'granted'
    const done = mayBeDone<AcquireResult | RaiseResult>(votes, did, majority)
    return impossible(votes, majority, { exhausted: true, outcome: done ? 'unknown' : 'not-done' })
  }
}

/** The answer of an ask, for who asked for the same owner meanwhile. */
function asAgain(answer: Answer<AcquireResult>): Answer<AcquireResult> {
  const { result } = answer
  return result.kind === 'granted' ? { ...answer, result: { ...result, again: true } } : answer
}

function highestFence(standings: readonly Standing[]): bigint {
  return standings.reduce(
    (most, { state, fence }) => (state === 'member' && fence !== null && fence > most ? fence : most),
    0n,
  )
}

/** Two nodes that are one end a round at once, whatever the others say. */
function assertApart(votes: Votes<unknown>): void {
  for (const vote of votes)
    if (vote?.kind === 'failed' && vote.failure.reason === NOT_APART) throw vote.failure
}

const failed = (message: string, reason: string): StoreFailure =>
  new StoreFailure(message, {
    kind: 'unreachable',
    outcome: 'not-done',
    final: false,
    exhausted: true,
    reason,
  })

const usedUp = (): StoreFailure => failed('the owner was given back already', 'spent')
const gone = (): StoreFailure =>
  failed('the lock was gone from a majority of the nodes before its fence was confirmed', 'fence-unconfirmed')
