import { rememberFor, type Attempt } from '../attempt.ts'
import type { Answer } from '../contract.ts'
import type { DoStep } from '../rules-step.ts'
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
} from './contract.ts'
import type { LimitRules } from './limit-rules.ts'

/** A limit store over rows that can be read and changed in one step. */
export class RulesLimitStore implements LimitStore {
  readonly #do: DoStep<LimitRules>

  constructor(step: DoStep<LimitRules>) {
    this.#do = step
  }

  take(ask: TakeAsk, attempt: Attempt): Promise<Answer<TakeResult>> {
    return this.#do({
      attempt,
      key: ask.address.key,
      mode: 'late',
      reply: ask.id,
      run: (rules, late) => rules.take(ask, late, keepFor(attempt)),
    })
  }

  peek(ask: PeekAsk, attempt: Attempt): Promise<Answer<Verdict>> {
    const { key } = ask.address
    return this.#do({ attempt, key, mode: 'read', reply: null, run: (rules) => rules.peek(ask) })
  }

  adjust(ask: AdjustAsk, attempt: Attempt): Promise<Answer<AdjustResult>> {
    return this.#do({
      attempt,
      key: ask.address.key,
      mode: 'late',
      reply: ask.id,
      run: (rules, late) => rules.adjust(ask, late, keepFor(attempt)),
    })
  }

  renew(ask: RenewSlotAsk, attempt: Attempt): Promise<Answer<RenewSlotResult>> {
    const { key } = ask.address
    return this.#do({ attempt, key, mode: 'late', reply: null, run: (rules, late) => rules.renew(ask, late) })
  }

  reset(ask: SubjectAsk, attempt: Attempt): Promise<Answer<null>> {
    const { key } = ask.address
    return this.#do({ attempt, key, mode: 'write', reply: null, run: (rules) => rules.reset(ask) })
  }

  block(ask: BlockAsk, attempt: Attempt): Promise<Answer<null>> {
    const { key } = ask.address
    return this.#do({ attempt, key, mode: 'write', reply: null, run: (rules) => rules.block(ask) })
  }
}

/** How long an answer is kept, in milliseconds. */
function keepFor(attempt: Attempt): number {
  return attempt.sent === null ? 0 : rememberFor(attempt, attempt.sent.monotonic)
}
