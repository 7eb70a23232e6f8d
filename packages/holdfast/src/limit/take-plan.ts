import type { Attempt } from '../store/attempt.ts'
import type { Answer, AnswerListener } from '../store/contract.ts'
import type { LimitStore, TakeAsk, TakeResult } from '../store/limit/contract.ts'
import type { OperationPlan } from '../store/operation.ts'

/** A take as an operation on the store. */
export class TakePlan implements OperationPlan<TakeResult> {
  readonly what = 'take'
  readonly #store: LimitStore
  readonly #ask: TakeAsk

  constructor(store: LimitStore, ask: TakeAsk) {
    this.#store = store
    this.#ask = ask
  }

  ask(attempt: Attempt): Promise<Answer<TakeResult>> {
    return this.#store.take(this.#ask, attempt)
  }

  askFor(attempt: Attempt, listener: AnswerListener<TakeResult>): boolean {
    return this.#store.takeFor?.(this.#ask, attempt, listener) ?? false
  }

  isLate(result: TakeResult): boolean {
    return result.kind === 'late'
  }

  /** While another try is out, which may be counted, a denial is not the last word. */
  isWeak(result: TakeResult): boolean {
    return result.kind === 'decided' && !result.allowed
  }
}
