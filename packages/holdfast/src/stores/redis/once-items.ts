import type { Attempt } from '../../store/attempt.ts'
import type { AnswerListener } from '../../store/contract.ts'
import type {
  ClaimResult,
  OnceState,
  OnceView,
  OutcomeForm,
  StoredOutcome,
} from '../../store/once/contract.ts'
import { orNull } from '../../store/once/record-text.ts'
import type { CallItem } from './call-kind.ts'
import { moreTime } from './lock-items.ts'

type Words = readonly string[]

/** One ask as an item of a call. */
export class OnceItem<R> implements CallItem {
  readonly keys: readonly string[]
  readonly attempt: Attempt
  readonly read: (words: Words) => R
  readonly #words: Words
  readonly #listener: AnswerListener<R>

  /** @param words its arguments; the first also says by how much its last moment is later than the call's */
  constructor(
    key: string,
    attempt: Attempt,
    words: Words,
    read: (words: Words) => R,
    listener: AnswerListener<R>,
  ) {
    this.keys = [key]
    this.attempt = attempt
    this.read = read
    this.#words = words
    this.#listener = listener
  }

  write(args: string[], later: number): void {
    const words = this.#words
    for (let i = 0; i < words.length; i += 1)
      args.push(i === 0 ? (words[0] as string) + moreTime(later) : (words[i] as string))
  }

  settle(result: R, serverTime: number, maybeTwice: boolean): void {
    this.#listener.answered({ result, serverTime, maybeTwice }, this.attempt)
  }

  fail(error: unknown): void {
    this.#listener.failed(error)
  }
}

/** An answer that is one word. */
export function wordResult<K extends string>([kind]: Words): { readonly kind: K } {
  return { kind: kind as K }
}

export function claimResult([kind = '', first = '', second = '', third = '']: Words): ClaimResult {
  switch (kind) {
    case 'claimed':
      return { kind, attempt: Number(first) }
    case 'running':
      return { kind, left: Number(first), attempt: Number(second), fingerprint: orNull(third) }
    case 'done':
      return { kind, outcome: { form: first as OutcomeForm, body: second }, fingerprint: orNull(third) }
    case 'mismatch':
      return { kind, fingerprint: orNull(first) }
    default:
      return { kind: 'late' }
  }
}

export function inspectResult([kind, ...words]: Words): OnceView | null {
  if (kind !== 'found') return null
  const [state, owner = '', attempt, since, left, fingerprint = '', pttl, form = '', body = ''] = words
  return {
    state: state as OnceState,
    owner,
    attempt: Number(attempt),
    since: Number(since),
    left: Number(left),
    fingerprint: orNull(fingerprint),
    outcome: outcomeOf(form, body),
    remaining: Number(pttl),
  }
}

function outcomeOf(form: string, body: string): StoredOutcome | null {
  return form === '-' ? null : { form: form as OutcomeForm, body }
}
