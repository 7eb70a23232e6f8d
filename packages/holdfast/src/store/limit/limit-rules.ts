import type {
  AdjustAsk,
  AdjustResult,
  BlockAsk,
  PeekAsk,
  RenewSlotAsk,
  RenewSlotResult,
  SubjectAsk,
  TakeAsk,
  TakeResult,
  Verdict,
} from './contract.ts'
import * as subjects from './subject.ts'

/** The answer of a call that counts. */
export type Reply = TakeResult | AdjustResult

/**
 * What a store offers within one atomic step. Nobody else sees or changes anything between the first call and the last, and
 * either all changes stay or none. What is past its `expires` may be gone.
 */
export interface LimitTables {
  /** The store's clock, read once for the step: whole milliseconds since 1970. */
  readonly now: number
  subject(key: string): subjects.Subject | null
  setSubject(key: string, subject: subjects.Subject, expires: number): void
  dropSubject(key: string): void
  /** What a call was answered. */
  reply(id: string): Reply | null
  setReply(id: string, reply: Reply, expires: number): void
}

/**
 * What the calls of a limit store do, written once for stores whose state can be read and changed in one synchronous step.
 */
export class LimitRules {
  readonly #tables: LimitTables

  constructor(tables: LimitTables) {
    this.#tables = tables
  }

  /** @param remember milliseconds for which the answer is kept, in case the call is asked again */
  take(ask: TakeAsk, late: boolean, remember: number): TakeResult {
    return this.#once(ask.id, late, remember, () => {
      const verdict = this.#step(ask.address.key, (subject) => subjects.take(subject, ask, this.#tables.now))
      return { kind: 'decided', ...verdict }
    })
  }

  peek(ask: PeekAsk): Verdict {
    return subjects.peek(this.#tables.subject(ask.address.key), ask, this.#tables.now)
  }

  /** @param remember milliseconds for which the answer is kept, in case the call is asked again */
  adjust(ask: AdjustAsk, late: boolean, remember: number): AdjustResult {
    return this.#once(ask.id, late, remember, () => {
      const adjusted = this.#step(ask.address.key, (subject) =>
        subjects.adjust(subject, ask, this.#tables.now),
      )
      return { kind: 'done', adjusted }
    })
  }

  renew(ask: RenewSlotAsk, late: boolean): RenewSlotResult {
    if (late) return { kind: 'late' }
    const renewed = this.#step(ask.address.key, (subject) => subjects.renew(subject, ask, this.#tables.now))
    return { kind: renewed ? 'renewed' : 'missing' }
  }

  reset({ address: { key } }: SubjectAsk): null {
    return this.#step(key, (subject) => ({
      result: null,
      subject: subjects.reset(subject, this.#tables.now),
    }))
  }

  block({ address: { key }, duration }: BlockAsk): null {
    return this.#step(key, (subject) => ({
      result: null,
      subject: subjects.block(subject, { duration }, this.#tables.now),
    }))
  }

  #step<R>(key: string, run: (subject: subjects.Subject | null) => subjects.Step<R>): R {
    const before = this.#tables.subject(key)
    const { result, subject } = run(before)
    if (subject === before) return result
    if (subject === null) this.#tables.dropSubject(key)
    else this.#tables.setSubject(key, subject, subjects.expiryOf(subject))
    return result
  }

  /** A call that is asked again, since its answer was lost, is answered as before. */
  #once<R extends Reply>(id: string, late: boolean, remember: number, run: () => R): R | { kind: 'late' } {
    const before = this.#tables.reply(id)
    // Ids are never used twice, so it is the answer of a call of this kind.
    if (before !== null) return before as R
    if (late) return { kind: 'late' }
    const reply = run()
    this.#tables.setReply(id, reply, this.#tables.now + remember)
    return reply
  }
}
