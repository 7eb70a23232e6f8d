import type { Attempt } from '../store/attempt.ts'
import type { Answer, AnswerListener, OwnerAsk, ReleaseResult } from '../store/contract.ts'
import type { Operation, OperationListener, OperationPlan, Outcome } from '../store/operation.ts'
import type { LockEngine } from './engine.ts'

/** How a release is sent, where it differs: not keeping the process alive, in less time (milliseconds), in fewer tries. */
export interface ReleaseOptions {
  readonly background?: boolean
  readonly budget?: number
  readonly tries?: number
  /** Whether it was done before, and is sent in case that was lost. */
  readonly repeated?: boolean
}

/** The release of one owner's lock. When it is done, the engine hears of it before its listener. */
export class Release implements OperationPlan<ReleaseResult>, OperationListener<ReleaseResult> {
  readonly what = 'release'
  readonly background: boolean
  readonly tries: number
  readonly #repeated: boolean
  readonly #engine: LockEngine
  readonly #ask: OwnerAsk
  readonly #listener: OperationListener<ReleaseResult>

  constructor(
    engine: LockEngine,
    ask: OwnerAsk,
    listener: OperationListener<ReleaseResult>,
    { background = false, tries = Infinity, repeated = false }: ReleaseOptions,
  ) {
    this.#engine = engine
    this.#ask = ask
    this.#listener = listener
    this.background = background
    this.tries = tries
    this.#repeated = repeated
  }

  ask(attempt: Attempt): Promise<Answer<ReleaseResult>> {
    return this.#engine.store.release(this.#ask, attempt)
  }

  askFor(attempt: Attempt, listener: AnswerListener<ReleaseResult>): boolean {
    return this.#engine.store.releaseFor?.(this.#ask, attempt, listener) ?? false
  }

  ended(outcome: Outcome<ReleaseResult>, operation: Operation<ReleaseResult>): void {
    if (outcome.kind === 'done') {
      const { result } = outcome.answer
      if (!this.#repeated) this.#engine.recentReleases.add(this.#ask)
      if (result.kind === 'released') this.#engine.wasReleased(this.#ask.address.key, result.wokeOther)
    }
    this.#listener.ended(outcome, operation)
  }
}
