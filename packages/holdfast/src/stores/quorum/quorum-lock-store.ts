import type { LockAddress } from '../../name.ts'
import type { Attempt } from '../../store/attempt.ts'
import type {
  AcquireAsk,
  AcquireResult,
  Answer,
  ForceResult,
  LeaveAsk,
  LockListener,
  LockRecord,
  LockStore,
  OwnerAsk,
  ReleaseResult,
  RenewAsk,
  RenewResult,
} from '../../store/contract.ts'
import type { NodeAsk, Votes } from './ballot.ts'
import { Granting } from './granting.ts'
import { impossible, judgeRelease, type ReleaseVerdict } from './majority.ts'
import { NodeAttempt } from './node-attempt.ts'
import type { Quorum } from './quorum.ts'
import { judgeAnswered, judgeForce, judgeInspect } from './reading.ts'
import { Renewing } from './renewing.ts'
import { Wakes } from './wakes.ts'

/** Locks on a majority of independent nodes. Each call is one round to all of them, or two where a fence is confirmed. */
export class QuorumLockStore implements LockStore {
  readonly process: string
  readonly spendsOwners = true
  readonly #quorum: Quorum
  readonly #granting: Granting
  readonly #renewing: Renewing
  readonly #wakes: Wakes
  #listener: LockListener | null = null

  constructor(process: string, quorum: Quorum) {
    this.process = process
    this.#quorum = quorum
    const { clock, randomness, majority } = quorum
    this.#wakes = new Wakes({ clock, randomness, majority, wake: (key) => this.#listener?.wake(key) })
    this.#granting = new Granting(quorum, (key, took) => this.#wakes.split(key, took))
    this.#renewing = new Renewing(quorum, this.#granting)
  }

  acquire(ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>> {
    return this.#granting.acquire(ask, attempt)
  }

  renew(ask: RenewAsk, attempt: Attempt): Promise<Answer<RenewResult>> {
    return this.#renewing.renew(ask, attempt)
  }

  async release(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ReleaseResult>> {
    const { majority } = this.#quorum
    const { votes, ...verdict } = await this.#ask(
      attempt,
      (until) => this.#releases(ask, until),
      (given: Votes<ReleaseResult>): (ReleaseVerdict & { votes: Votes<ReleaseResult> }) | null => {
        const judged = judgeRelease(given, majority)
        return judged === null ? null : { ...judged, votes: [...given] }
      },
    )
    if (verdict.kind === 'impossible')
      throw impossible(votes, majority, { exhausted: false, outcome: 'unknown' })
    const maybeTwice = votes.some((vote) => vote?.kind === 'answered' && vote.answer.maybeTwice)
    return { result: verdict, serverTime: this.#quorum.time, maybeTwice }
  }

  async leave({ address }: LeaveAsk, attempt: Attempt): Promise<Answer<null>> {
    await this.#read(
      attempt,
      (node, own) => node.leave({ address }, own),
      (votes) => judgeAnswered(votes, this.#quorum.majority),
    )
    return this.#answer(null)
  }

  async inspect(address: LockAddress, attempt: Attempt): Promise<Answer<LockRecord | null>> {
    const verdict = await this.#read(
      attempt,
      (node, own) => node.inspect(address, own),
      (votes: Votes<LockRecord | null>) => judgeInspect(votes, this.#quorum.majority),
    )
    return this.#answer(verdict.record)
  }

  async force(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ForceResult>> {
    const verdict = await this.#read(
      attempt,
      (node, own) => node.force(ask, own),
      (votes: Votes<ForceResult>) => judgeForce(votes, this.#quorum.majority),
    )
    return this.#answer(verdict)
  }

  listen(listener: LockListener): void {
    this.#listener = listener
    for (const [node, store] of this.#quorum.nodes.entries()) {
      store.listen({
        wake: (key) => this.#wakes.heard(node, key),
        forced: (key, owner) => this.#forced(node, key, owner),
        gap: (key) => listener.gap(key),
        moved: () => listener.moved(),
      })
    }
  }

  attend(needed: boolean): void {
    for (const node of this.#quorum.nodes) node.attend(needed)
  }

  /** Lets what is being given back come to its end, for one node's budget at most. */
  async close(): Promise<void> {
    this.#wakes.close()
    await this.#quorum.givingBack.close()
  }

  #answer<R>(result: R): Answer<R> {
    return { result, serverTime: this.#quorum.time, maybeTwice: false }
  }

  /** What is ours is followed until it is gone from every node; whatever else is asked for once. */
  #releases(ask: OwnerAsk, until: number): readonly NodeAsk<ReleaseResult>[] {
    const { nodes, claims } = this.#quorum
    const claim = claims.get(ask.owner)
    const once = (node: LockStore) => () => node.release(ask, new NodeAttempt(null, until))
    if (claim === null) return nodes.map(once)
    if (!claim.spent) return this.#quorum.release(claim).map((first) => first && (() => first))
    return nodes.map((node, i) => {
      const standing = claim.standings[i]
      const released = standing?.released ?? null
      if (released !== null) return () => Promise.resolve(released)
      return standing?.mayHold === true ? once(node) : null
    })
  }

  /** A node's holder was told of a forced release there. Ours is over when no majority is left. */
  #forced(node: number, key: string, owner: string): void {
    const claim = this.#quorum.claims.get(owner)
    if (claim === null || claim.spent) return
    claim.standings[node]?.gone()
    if (claim.members >= this.#quorum.majority) return
    this.#quorum.spend(claim)
    this.#listener?.forced(key, owner)
  }

  async #read<R, V extends { readonly kind: string }>(
    attempt: Attempt,
    ask: (node: LockStore, own: Attempt) => Promise<Answer<R>>,
    judge: (votes: Votes<R>) => V | { readonly kind: 'impossible' } | null,
  ): Promise<Exclude<V, { readonly kind: 'impossible' }>> {
    const { nodes, majority } = this.#quorum
    const asks = (until: number): readonly NodeAsk<R>[] =>
      nodes.map((node) => () => ask(node, new NodeAttempt(attempt, until)))
    const verdict = await this.#ask(attempt, asks, (votes: Votes<R>) => {
      const judged = judge(votes)
      if (judged?.kind !== 'impossible') return judged
      throw impossible(votes, majority, { exhausted: false, outcome: 'unknown' })
    })
    return verdict as Exclude<V, { readonly kind: 'impossible' }>
  }

  #ask<R, V>(
    attempt: Attempt,
    asks: (until: number) => readonly NodeAsk<R>[],
    judge: (votes: Votes<R>) => V | null,
  ): Promise<V> {
    const { monotonic } = this.#quorum.begin(attempt, null)
    const until = Math.min(attempt.until, monotonic + this.#quorum.terms.nodeBudget)
    return this.#quorum.ask(asks(until), judge, until)
  }
}
