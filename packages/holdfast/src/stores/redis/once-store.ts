import type { Attempt } from '../../store/attempt.ts'
import type { Answer, AnswerListener, StoreContext } from '../../store/contract.ts'
import type { OnceAddress } from '../../store/once/address.ts'
import type {
  ClaimAsk,
  ClaimResult,
  CompleteAsk,
  CompleteResult,
  FreeAsk,
  FreeResult,
  OnceStore,
  OnceView,
  RenewRunAsk,
  RenewRunResult,
  SettleAsk,
  SettleRunResult,
} from '../../store/once/contract.ts'
import { newProcessName } from '../../store/owner.ts'
import { promised } from '../../store/promised.ts'
import type { CallKind } from './call-kind.ts'
import type { CallSender, RedisLink } from './link.ts'
import { OnceCallKinds } from './once-calls.ts'
import { claimResult, inspectResult, OnceItem, wordResult } from './once-items.ts'

/** What runs once, on one Redis server or a cluster: each ask is an item of a script call, which many keys share. */
export class RedisOnceStore implements OnceStore {
  readonly #sender: CallSender
  readonly #kinds = new OnceCallKinds()

  constructor(link: RedisLink, { randomness }: Pick<StoreContext, 'randomness'>) {
    this.#sender = link.sender(newProcessName(randomness))
  }

  claim(ask: ClaimAsk, attempt: Attempt): Promise<Answer<ClaimResult>> {
    return promised((listener) => this.claimFor(ask, attempt, listener))
  }

  claimFor(ask: ClaimAsk, attempt: Attempt, listener: AnswerListener<ClaimResult>): true {
    const { address, owner, fingerprint, lease, retention, retryAbandoned } = ask
    const kind = this.#kinds.claim(lease, retention, retryAbandoned)
    const words = [owner, fingerprint ?? '-']
    this.#sender.add(kind, new OnceItem(address.key, attempt, words, claimResult, listener))
    return true
  }

  renew(
    { address, owner, lease, retention }: RenewRunAsk,
    attempt: Attempt,
  ): Promise<Answer<RenewRunResult>> {
    const kind = this.#kinds.renew(lease, retention)
    return this.#do<RenewRunResult>(kind, address, attempt, [owner], wordResult)
  }

  complete(ask: CompleteAsk, attempt: Attempt): Promise<Answer<CompleteResult>> {
    return promised((listener) => this.completeFor(ask, attempt, listener))
  }

  completeFor(ask: CompleteAsk, attempt: Attempt, listener: AnswerListener<CompleteResult>): true {
    const { address, owner, attempt: run, fingerprint, outcome, retention } = ask
    const words = [`${owner} ${run}`, `${fingerprint ?? '-'} ${outcome.form}`, outcome.body]
    const item = new OnceItem<CompleteResult>(address.key, attempt, words, wordResult, listener)
    this.#sender.add(this.#kinds.complete(retention), item)
    return true
  }

  free({ address, owner, started, retention }: FreeAsk, attempt: Attempt): Promise<Answer<FreeResult>> {
    const word = `${owner} ${started ? 1 : 0}`
    return this.#do<FreeResult>(this.#kinds.free(retention), address, attempt, [word], wordResult)
  }

  settle(
    { address, owner, outcome, retention }: SettleAsk,
    attempt: Attempt,
  ): Promise<Answer<SettleRunResult>> {
    const words = [`${owner} ${outcome?.form ?? '-'}`, outcome?.body ?? '']
    return this.#do<SettleRunResult>(this.#kinds.settle(retention), address, attempt, words, wordResult)
  }

  inspect(address: OnceAddress, attempt: Attempt): Promise<Answer<OnceView | null>> {
    return this.#do(this.#kinds.inspect, address, attempt, [], inspectResult)
  }

  #do<R>(
    kind: CallKind,
    { key }: OnceAddress,
    attempt: Attempt,
    words: readonly string[],
    read: (words: readonly string[]) => R,
  ): Promise<Answer<R>> {
    return promised((listener) => this.#sender.add(kind, new OnceItem(key, attempt, words, read, listener)))
  }
}
