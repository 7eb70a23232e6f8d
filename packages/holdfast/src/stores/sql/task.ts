import type { Attempt } from '../../store/attempt.ts'
import type { Answer } from '../../store/contract.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { StepMode } from '../../store/rules-step.ts'
import type { SqlSpace } from './space.ts'

/** One operation on one key. */
export interface SqlTask {
  readonly attempt: Attempt
  readonly key: string
  /** The id of a call that may have been answered before; of limits. */
  readonly reply: string | null
  readonly mode: StepMode
  /** Works on what was read, at once. */
  run(space: SqlSpace, late: boolean): unknown
  settle(answer: Answer<unknown>): void
  fail(failure: StoreFailure): void
}

/** A task is done by no transaction: why. */
export function notDone(reason: 'closed' | 'abandoned' | 'pool' | 'silent', message: string): StoreFailure {
  const final = reason === 'closed' || reason === 'abandoned'
  return new StoreFailure(message, {
    kind: final ? 'refused' : 'unreachable',
    outcome: 'not-done',
    final,
    reason,
  })
}
