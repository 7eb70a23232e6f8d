import type { PolicyVerdict, Verdict } from '../store/limit/contract.ts'
import type { Policy } from '../store/limit/policy.ts'
import * as subjects from '../store/limit/subject.ts'

/** One subject over the pure functions, without a store: time is what each call says. For tests. */
export class Ledger {
  /** May be exchanged: usage carries over. */
  policies: readonly Policy[]
  /** What is kept; `null` for nothing. */
  subject: subjects.Subject | null = null
  #calls = 0

  constructor(...policies: readonly Policy[]) {
    this.policies = policies
  }

  /** From when on nothing of it matters any more; 0 when nothing is kept. */
  get expires(): number {
    return this.subject === null ? 0 : subjects.expiryOf(this.subject)
  }

  /** Takes, and tells the verdict of the first policy. */
  take(cost: number, now: number, wish: LedgerWish = {}): PolicyVerdict {
    return first(this.takeAll(cost, now, wish))
  }

  takeAll(
    cost: number,
    now: number,
    { countDenied = false, returnAfter = null, id }: LedgerWish = {},
  ): Verdict {
    const ask = {
      policies: this.policies,
      cost,
      id: id ?? `take ${(this.#calls += 1)}`,
      countDenied,
      returnAfter,
    }
    const { result, subject } = subjects.take(this.subject, ask, now)
    this.#keep(subject, now)
    return result
  }

  peek(cost: number, now: number): PolicyVerdict {
    return first(this.peekAll(cost, now))
  }

  peekAll(cost: number, now: number): Verdict {
    return subjects.peek(this.subject, { policies: this.policies, cost }, now)
  }

  /** Changes a take. Tells whether there was anything to change. */
  adjust(change: { take?: string; at: number; taken: number; cost: number }, now: number): boolean {
    const ask = { take: 'some take', id: 'some call', ...change, policies: this.policies }
    const { result, subject } = subjects.adjust(this.subject, ask, now)
    this.#keep(subject, now)
    return result
  }

  renew(take: string, now: number): boolean {
    const { result, subject } = subjects.renew(this.subject, { policies: this.policies, take }, now)
    this.#keep(subject, now)
    return result
  }

  reset(now: number): void {
    this.#keep(subjects.reset(this.subject, now), now)
  }

  block(duration: number, now: number): void {
    this.#keep(subjects.block(this.subject, { duration }, now), now)
  }

  /** As a store does: what is over is not there. */
  #keep(subject: subjects.Subject | null, now: number): void {
    this.subject = subject !== null && subjects.expiryOf(subject) > now ? subject : null
  }
}

export interface LedgerWish {
  readonly countDenied?: boolean
  readonly returnAfter?: number | null
  readonly id?: string
}

function first({ policies: [verdict] }: Verdict): PolicyVerdict {
  if (verdict === undefined) throw new Error('there is no policy')
  return verdict
}
