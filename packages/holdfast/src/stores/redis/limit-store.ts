import type { Attempt } from '../../store/attempt.ts'
import type { Answer, AnswerListener, StoreContext } from '../../store/contract.ts'
import type {
  AdjustAsk,
  AdjustResult,
  BlockAsk,
  LimitStore,
  PeekAsk,
  RenewSlotAsk,
  RenewSlotResult,
  SubjectAsk,
  TakeAsk,
  TakeResult,
  Verdict,
} from '../../store/limit/contract.ts'
import { newProcessName } from '../../store/owner.ts'
import { promised } from '../../store/promised.ts'
import type { CallKind } from './call-kind.ts'
import { blockKind, PolicyCallsCache } from './limit-calls.ts'
import { CountItem, PlainItem, RecountItem, type Asked } from './limit-items.ts'
import { RecentCalls } from './limit-recent.ts'
import { peekVerdict, takeVerdict } from './limit-verdict.ts'
import type { CallSender, RedisLink } from './link.ts'

/** The scripts keep ids of takes at this length. */
const TAKE_ID_LENGTH = 22

/** Replies of items come behind the server's time and the call's id; Lua counts from 1. */
const FIRST_REPLY = 3

type Words = readonly string[]

/**
 * Limits on one Redis server or a cluster: each ask is an item of a script call, which many subjects share. One key for each subject and
 * policy, and one more while the subject is blocked or has reservations.
 *
 * A call that counts leaves its reply under a key of its own for twice its budget. It is found by a copy that the client sends
 * again, and by an item that is asked again; the latter leaves its answer there, for the first call should come late.
 */
export class RedisLimitStore implements LimitStore {
  readonly #sender: CallSender
  readonly #calls: PolicyCallsCache
  readonly #recent: RecentCalls

  constructor(link: RedisLink, { clock, randomness }: Pick<StoreContext, 'clock' | 'randomness'>) {
    this.#sender = link.sender(newProcessName(randomness))
    this.#recent = new RecentCalls(clock)
    this.#calls = new PolicyCallsCache(this.#recent, link.inCluster)
  }

  take(ask: TakeAsk, attempt: Attempt): Promise<Answer<TakeResult>> {
    return promised((listener) => this.takeFor(ask, attempt, listener))
  }

  takeFor(ask: TakeAsk, attempt: Attempt, listener: AnswerListener<TakeResult>): true {
    this.#count(ask, attempt, ask.countDenied, new AskedTake(ask), listener)
    return true
  }

  adjust(ask: AdjustAsk, attempt: Attempt): Promise<Answer<AdjustResult>> {
    return promised((listener) => this.#count(ask, attempt, false, new AskedAdjustment(ask), listener))
  }

  peek(ask: PeekAsk, attempt: Attempt): Promise<Answer<Verdict>> {
    const { address, policies, cost } = ask
    const calls = this.#calls.of(address, policies)
    const read = (result: Words, at: number): Verdict => peekVerdict(result, policies, cost, at)
    return this.#plain(calls.peek, calls.keysOf(address), attempt, [String(cost)], read)
  }

  renew({ address, policies, take }: RenewSlotAsk, attempt: Attempt): Promise<Answer<RenewSlotResult>> {
    const calls = this.#calls.of(address, policies)
    const read = ([kind]: Words): RenewSlotResult => ({ kind: kind as RenewSlotResult['kind'] })
    return this.#plain(calls.renew, calls.keysOf(address), attempt, [padded(take)], read, true)
  }

  reset({ address, policies }: SubjectAsk, attempt: Attempt): Promise<Answer<null>> {
    const calls = this.#calls.of(address, policies)
    return this.#plain(calls.reset, calls.keysOf(address), attempt, [], nothing)
  }

  block({ address, duration }: BlockAsk, attempt: Attempt): Promise<Answer<null>> {
    return this.#plain(blockKind, [address.key], attempt, [String(duration)], nothing)
  }

  /** A call that counts: asked again, it looks for the answer to the first. */
  #count<R>(
    { id, address, policies }: SubjectAsk & { readonly id: string },
    attempt: Attempt,
    countDenied: boolean,
    asked: Asked<R>,
    listener: AnswerListener<R>,
  ): void {
    const calls = this.#calls.of(address, policies)
    const keys = calls.keysOf(address)
    const before = this.#recent.get(id)
    if (before instanceof CountItem && !before.attempt.abandoned) {
      // It waits for a connection still: nothing of it was sent, and it will be.
      return (before as CountItem<R>).alsoTell(attempt, listener)
    }
    if (before === undefined || 'attempt' in before) {
      const item = new CountItem(id, keys, attempt, asked, this.#recent, listener)
      this.#recent.waits(item)
      return this.#sender.add(countDenied ? calls.countWithDenied : calls.count, item)
    }
    const place = before.ids.indexOf(id) + FIRST_REPLY
    const item = new RecountItem(keys, attempt, asked, before, place, listener)
    this.#sender.add(countDenied ? calls.recountWithDenied : calls.recount, item)
  }

  /** @param expires whether the server refuses it after the attempt's time; its kind says the same */
  #plain<R>(
    kind: CallKind,
    keys: readonly string[],
    attempt: Attempt,
    words: Words,
    read: (result: Words, at: number) => R,
    expires = false,
  ): Promise<Answer<R>> {
    return promised((listener) =>
      this.#sender.add(kind, new PlainItem(keys, attempt, expires, words, read, listener)),
    )
  }
}

class AskedTake implements Asked<TakeResult> {
  readonly #ask: TakeAsk

  constructor(ask: TakeAsk) {
    this.#ask = ask
  }

  get word(): string {
    const { id, cost, policies, returnAfter } = this.#ask
    if (returnAfter !== null) return `${cost} ${padded(id)} ${returnAfter}`
    // Only slots and reservations are known by the take.
    for (const { kind } of policies) if (kind === 'concurrency') return `${cost} ${padded(id)}`
    return String(cost)
  }

  read(result: Words, at: number): TakeResult {
    if (result[0] === 'late') return { kind: 'late' }
    return { kind: 'decided', ...takeVerdict(result, this.#ask.policies, this.#ask.cost, at) }
  }
}

class AskedAdjustment implements Asked<AdjustResult> {
  readonly word: string

  constructor({ take, at, taken, cost }: AdjustAsk) {
    this.word = `${padded(take)} ${at} ${taken} ${cost}`
  }

  read([kind]: Words): AdjustResult {
    return kind === 'late' ? { kind } : { kind: 'done', adjusted: kind === 'done' }
  }
}

const nothing = (): null => null

function padded(id: string): string {
  return id.length === TAKE_ID_LENGTH ? id : id.padEnd(TAKE_ID_LENGTH, '=')
}
