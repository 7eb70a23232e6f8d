import type { Attempt } from '../../store/attempt.ts'
import type { AnswerListener } from '../../store/contract.ts'
import type { CallItem } from './call-kind.ts'
import type { CountedItem, FirstCall, RecentCalls } from './limit-recent.ts'

type Words = readonly string[]

/** One ask as an item of a call. */
export abstract class LimitItem<R> implements CallItem {
  readonly keys: readonly string[]
  readonly attempt: Attempt
  protected told: AnswerListener<R>

  constructor(keys: readonly string[], attempt: Attempt, listener: AnswerListener<R>) {
    this.keys = keys
    this.attempt = attempt
    this.told = listener
  }

  abstract write(args: string[], later: number): void

  /** Server milliseconds after which it must be refused. */
  protected get notAfter(): number {
    return this.attempt.notAfter ?? 0
  }

  read(words: Words): Words {
    return words
  }

  settle(words: Words, serverTime: number, maybeTwice: boolean): void {
    // `again`: the answer of an earlier call that had the same to do, and when that was.
    const result =
      words[0] === 'again'
        ? this.understand(words.slice(2), Number(words[1]))
        : this.understand(words, serverTime)
    this.told.answered({ result, serverTime, maybeTwice }, this.attempt)
  }

  fail(error: unknown): void {
    this.told.failed(error)
  }

  /** @param at when it was decided, by the server's clock */
  protected abstract understand(result: Words, at: number): R
}

/** What is asked, as the scripts read it, and what their answer means. */
export interface Asked<R> {
  readonly word: string
  read(result: Words, at: number): R
}

/** An ask that counts nothing. */
export class PlainItem<R> extends LimitItem<R> {
  readonly #expires: boolean
  readonly #words: Words
  readonly #read: (result: Words, at: number) => R

  /** @param expires whether the server refuses it after the attempt's time; its kind says the same */
  constructor(
    keys: readonly string[],
    attempt: Attempt,
    expires: boolean,
    words: Words,
    read: (result: Words, at: number) => R,
    listener: AnswerListener<R>,
  ) {
    super(keys, attempt, listener)
    this.#expires = expires
    this.#words = words
    this.#read = read
  }

  write(args: string[]): void {
    args.push(...this.#words)
    if (this.#expires) args.push(String(this.notAfter))
  }

  protected understand(result: Words, at: number): R {
    return this.#read(result, at)
  }
}

/** An ask that counts, when it is asked for the first time. */
export class CountItem<R> extends LimitItem<R> implements CountedItem {
  readonly id: string
  readonly #asked: Asked<R>
  readonly #recent: RecentCalls
  call: FirstCall | null = null

  constructor(
    id: string,
    keys: readonly string[],
    attempt: Attempt,
    asked: Asked<R>,
    recent: RecentCalls,
    listener: AnswerListener<R>,
  ) {
    super(keys, attempt, listener)
    this.id = id
    this.#asked = asked
    this.#recent = recent
  }

  write(args: string[], later: number): void {
    const { word } = this.#asked
    args.push(later === 0 ? word : `${word}@${this.notAfter}`)
  }

  /** Another try of the same ask, which came before this one was written: what this one is answered counts for both. */
  alsoTell(attempt: Attempt, listener: AnswerListener<R>): void {
    const { told } = this
    this.told = {
      answered(answer, of) {
        told.answered(answer, of)
        listener.answered(answer, attempt)
      },
      failed(error) {
        told.failed(error)
        listener.failed(error)
      },
    }
  }

  override fail(error: unknown): void {
    this.#recent.failed(this)
    super.fail(error)
  }

  protected understand(result: Words, at: number): R {
    return this.#asked.read(result, at)
  }
}

/** An ask that counts, asked again: it looks first for what the first call was answered. */
export class RecountItem<R> extends LimitItem<R> {
  readonly #asked: Asked<R>
  readonly #place: number
  readonly #keepFor: number

  constructor(
    keys: readonly string[],
    attempt: Attempt,
    asked: Asked<R>,
    call: FirstCall,
    place: number,
    listener: AnswerListener<R>,
  ) {
    super([call.replyKey, ...keys], attempt, listener)
    this.#asked = asked
    this.#place = place
    this.#keepFor = call.keepFor
  }

  write(args: string[]): void {
    args.push(this.#asked.word, String(this.notAfter), String(this.#place), String(this.#keepFor))
  }

  protected understand(result: Words, at: number): R {
    return this.#asked.read(result, at)
  }
}
