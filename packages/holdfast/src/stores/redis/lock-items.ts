import type { LockAddress } from '../../name.ts'
import type { Attempt } from '../../store/attempt.ts'
import type {
  AcquireResult,
  AnswerListener,
  RaiseAsk,
  RaiseResult,
  ReleaseResult,
  RenewAsk,
  RenewResult,
} from '../../store/contract.ts'
import { idOf } from '../../store/owner.ts'
import type { CallItem } from './call-kind.ts'
import { acquireResult, raiseResult, releaseResult, renewResult, type Words } from './lock-results.ts'

/** One ask as an item of a call. */
abstract class LockItem<R> implements CallItem {
  readonly keys: readonly string[]
  readonly attempt: Attempt
  readonly #listener: AnswerListener<R>

  constructor(keys: readonly string[], attempt: Attempt, listener: AnswerListener<R>) {
    this.keys = keys
    this.attempt = attempt
    this.#listener = listener
  }

  abstract write(args: string[], later: number): void
  abstract read(words: Words): R

  settle(result: R, serverTime: number, maybeTwice: boolean, clock?: object): void {
    this.#listener.answered({ result, serverTime, maybeTwice, clock }, this.attempt)
  }

  fail(error: unknown): void {
    this.#listener.failed(error)
  }
}

/** What is said of an item besides its own words. */
export interface ItemParts<R> {
  readonly address: LockAddress
  readonly attempt: Attempt
  readonly read: (words: Words) => R
}

/** One that names an owner. All owners of a call travel as one word, see {@link CallKind.write}. */
export abstract class OwnerItem<R> extends LockItem<R> {
  /** What the owner begins with: 22 characters, or nothing when the call says all of it. */
  readonly id: string
  /** Rides along in the lock's value. */
  readonly suffix: string

  constructor(
    id: string,
    suffix: string,
    { key, queueKey }: LockAddress,
    attempt: Attempt,
    listener: AnswerListener<R>,
  ) {
    super([key, queueKey], attempt, listener)
    this.id = id
    this.suffix = suffix
  }

  write(): void {
    // The call writes for all.
  }
}

export class AcquireItem extends OwnerItem<AcquireResult> {
  read(words: Words): AcquireResult {
    return acquireResult(words)
  }
}

export class ReleaseItem extends OwnerItem<ReleaseResult> {
  constructor(id: string, address: LockAddress, attempt: Attempt, listener: AnswerListener<ReleaseResult>) {
    super(id, '', address, attempt, listener)
  }

  read(words: Words): ReleaseResult {
    return releaseResult(words)
  }
}

/** One that says a word at most, and may be done whenever it arrives. */
export class WordItem<R> extends LockItem<R> {
  readonly read: (words: Words) => R
  readonly #word: string | null

  constructor(word: string | null, { address, attempt, read }: ItemParts<R>, listener: AnswerListener<R>) {
    super([address.key, address.queueKey], attempt, listener)
    this.#word = word
    this.read = read
  }

  write(args: string[]): void {
    if (this.#word !== null) args.push(this.#word)
  }
}

export class RenewItem extends LockItem<RenewResult> {
  readonly #ask: RenewAsk

  constructor(ask: RenewAsk, attempt: Attempt, listener: AnswerListener<RenewResult>) {
    super([ask.address.key], attempt, listener)
    this.#ask = ask
  }

  write(args: string[], later: number): void {
    const { owner, fence } = this.#ask
    args.push(`${idOf(owner)}#${fence}${moreTime(later)}`)
  }

  read(words: Words): RenewResult {
    return renewResult(words)
  }
}

export class RaiseItem extends LockItem<RaiseResult> {
  readonly #ask: RaiseAsk

  constructor(ask: RaiseAsk, attempt: Attempt, listener: AnswerListener<RaiseResult>) {
    super([ask.address.key], attempt, listener)
    this.#ask = ask
  }

  write(args: string[]): void {
    args.push(`${idOf(this.#ask.owner)}#${this.#ask.fence}`)
  }

  read(words: Words): RaiseResult {
    return raiseResult(words)
  }
}

/** How an item says that it has more time than its call. */
export const moreTime = (later: number): string => (later === 0 ? '' : `+${later}`)
