import type { Attempt } from '../../store/attempt.ts'
import type { Answer, LockStore, QueueManners, RenewAsk, RenewResult } from '../../store/contract.ts'
import type { NodeAsk, Votes } from './ballot.ts'
import type { Claim } from './claim.ts'
import type { Granting } from './granting.ts'
import { impossible, judgeRenew, type RenewVerdict } from './majority.ts'
import { NodeAttempt } from './node-attempt.ts'
import type { Quorum } from './quorum.ts'
import type { Standing } from './standing.ts'

type Round = RenewVerdict & { readonly votes: Votes<RenewResult> }

const NO_QUEUE: QueueManners = { join: false, stands: false, yield: false }

/**
 * How a quorum renews: a majority of the nodes that count must prolong it. Nodes on which it does not stand (they were down, or
 * came back empty) are taken in after a renewal that succeeded without them, and count from the next one on that succeeds
 * without them. So nobody else can have had a majority in between.
 */
export class Renewing {
  readonly #quorum: Quorum
  readonly #granting: Granting

  constructor(quorum: Quorum, granting: Granting) {
    this.#quorum = quorum
    this.#granting = granting
  }

  async renew(ask: RenewAsk, attempt: Attempt): Promise<Answer<RenewResult>> {
    this.#quorum.begin(attempt, this.#quorum.terms.nodeBudget)
    const claim = this.#quorum.claims.get(ask.owner)
    if (claim?.spent === true) return this.#answer({ kind: 'missing' })
    const ours = claim !== null && claim.fence === ask.fence ? claim : null
    const round = ours === null ? await this.#foreign(ask, attempt) : await this.#round(ours, ask, attempt)
    if (round.kind === 'impossible')
      throw impossible(round.votes, this.#quorum.majority, { exhausted: false, outcome: 'unknown' })
    if (ours !== null && !ours.spent) {
      if (round.kind === 'renewed') this.#takeIn(ours, ask, round.votes)
      // Fewer than a majority keep nobody out; they would only be in the way.
      else if (round.kind !== 'late') this.#quorum.spend(ours)
    }
    return this.#answer(
      round.kind === 'other' ? { kind: 'other', holder: round.holder } : { kind: round.kind },
    )
  }

  #answer(result: RenewResult): Answer<RenewResult> {
    return { result, serverTime: this.#quorum.time, maybeTwice: false }
  }

  get #until(): number {
    return this.#quorum.clock.monotonic() + this.#quorum.terms.nodeBudget
  }

  #round(claim: Claim, { ttl }: RenewAsk, attempt: Attempt): Promise<Round> {
    const until = this.#until
    this.#quorum.prolongs(claim, ttl)
    const counting = claim.standings.map(({ state }) => state === 'member')
    const joined: Standing[] = []
    const asks = claim.standings.map((standing, node): NodeAsk<RenewResult> => {
      if (standing.state === 'absent') return null
      return () =>
        this.#renewAt(node, claim, ttl, new NodeAttempt(attempt, until)).then((answer) => {
          if (answer.result.kind === 'renewed' && standing.state === 'joining') joined.push(standing)
          return answer
        })
    })
    const round = this.#ask(asks, (node) => counting[node] === true, until)
    return round.then((verdict) => {
      if (verdict.kind === 'renewed') for (const standing of joined) this.#counts(standing)
      return verdict
    })
  }

  #counts(standing: Standing): void {
    if (standing.state === 'joining') standing.state = 'member'
  }

  async #renewAt(
    node: number,
    { address, owner, standings }: Claim,
    ttl: number,
    attempt: NodeAttempt,
  ): Promise<Answer<RenewResult>> {
    const standing = standings[node] as Standing
    const { fence } = standing
    const ask = { address, owner, fence: fence ?? 0n, ttl: this.#quorum.nodeTtl(ttl) }
    const answer = await (this.#quorum.nodes[node] as LockStore).renew(ask, attempt)
    const { kind } = answer.result
    if ((kind === 'missing' || kind === 'other') && standing.fence === fence) standing.gone()
    return answer
  }

  /** A grant that is not ours, or not any more: the nodes tell whose it is. */
  #foreign(ask: RenewAsk, attempt: Attempt): Promise<Round> {
    const until = this.#until
    const asks = this.#quorum.nodes.map(
      (node): NodeAsk<RenewResult> =>
        () =>
          node.renew(ask, new NodeAttempt(attempt, until)),
    )
    return this.#ask(asks, () => true, until)
  }

  #ask(
    asks: readonly NodeAsk<RenewResult>[],
    counts: (node: number) => boolean,
    until: number,
  ): Promise<Round> {
    return this.#quorum.ask<RenewResult, Round>(
      asks,
      (votes) => {
        const verdict = judgeRenew(votes, counts, this.#quorum.majority)
        return verdict === null ? null : { ...verdict, votes: [...votes] }
      },
      until,
    )
  }

  /** Takes the lock on the nodes that answer and do not have it; in the background. */
  #takeIn(claim: Claim, { ttl }: RenewAsk, votes: Votes<RenewResult>): void {
    const { address, owner } = claim
    const ask = { address, owner, ttl, trace: claim.trace, queue: NO_QUEUE }
    for (const [node, standing] of claim.standings.entries()) {
      const deaf = votes[node]?.kind === 'failed' || votes[node]?.kind === 'silent'
      if (standing.state !== 'absent' || standing.awaits || deaf) continue
      const attempt = new NodeAttempt(null, this.#until)
      this.#granting.takeAt(node, claim, ask, attempt, 'joining').then(
        () => this.#raise(node, claim, attempt.until),
        () => undefined,
      )
    }
  }

  /** The next grant here must be above this one's fence, as on the nodes that agreed to it. A hint: those suffice. */
  #raise(node: number, { address, owner, fence, standings }: Claim, until: number): void {
    const standing = standings[node] as Standing
    if (!this.#quorum.terms.fenced || fence === null || standing.fence === null || standing.fence > fence)
      return
    const store = this.#quorum.nodes[node] as Required<LockStore>
    store.raise({ address, owner, fence }, new NodeAttempt(null, until)).catch(() => undefined)
  }
}
