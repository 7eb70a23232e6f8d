import type { Attempt } from './attempt.ts'
import type { Answer } from './contract.ts'

/** One call of a store whose rules work on rows: which row it is about, and how it goes. */
export interface RulesStep<Rules, R> {
  readonly attempt: Attempt
  readonly key: string
  /** `read`: it changes nothing. `late`: it must do nothing after `attempt.validUntil`. `write`: it may be done at any time. */
  readonly mode: StepMode
  /** The id of a call that may have been answered before; of limits. */
  readonly reply: string | null
  /** Works on the rows at once, without a pause. */
  readonly run: (rules: Rules, late: boolean) => R
}

export type StepMode = 'read' | 'late' | 'write'

/** Does such a step as one atomic step of the store. */
export type DoStep<Rules> = <R>(step: RulesStep<Rules, R>) => Promise<Answer<R>>
