import { bounds } from '../../defaults.ts'
import type { Attempt } from '../attempt.ts'
import type { Answer } from '../contract.ts'
import type { DoStep, StepMode } from '../rules-step.ts'
import type { OnceAddress } from './address.ts'
import type {
  ClaimAsk,
  ClaimResult,
  CompleteAsk,
  CompleteResult,
  FreeAsk,
  FreeResult,
  OnceStore,
  OnceTransaction,
  OnceView,
  RenewRunAsk,
  RenewRunResult,
  SettleAsk,
  SettleRunResult,
} from './contract.ts'
import type { OnceRules } from './once-rules.ts'

/** A store of what runs once, over rows that can be read and changed in one step. */
export class RulesOnceStore implements OnceStore {
  readonly within?: (transaction: unknown) => OnceTransaction
  readonly #step: DoStep<OnceRules>
  readonly #isKept: ((error: unknown) => boolean) | null

  /** @param database what stores over a database know beside: of transactions of the caller's, and of rows that others keep */
  constructor(
    step: DoStep<OnceRules>,
    database?: {
      /** The same in a transaction of the caller's. */
      readonly within: (transaction: unknown) => OnceTransaction
      /** Whether an error says that another transaction kept the row for as long as could be waited. */
      readonly isKept?: (error: unknown) => boolean
    },
  ) {
    this.#step = step
    this.#isKept = database?.isKept ?? null
    if (database !== undefined) this.within = database.within
  }

  async claim(ask: ClaimAsk, attempt: Attempt): Promise<Answer<ClaimResult>> {
    try {
      return await this.#do(ask.address, attempt, 'late', (rules, late) => rules.claim(ask, late))
    } catch (error) {
      if (this.#isKept?.(error) !== true) throw error
      // Somebody is at this key, in a transaction that is not committed. Nobody can say how long it takes.
      // When that was, nobody asks of it.
      const result = {
        kind: 'running',
        left: bounds.longestRetryAfter,
        attempt: 1,
        fingerprint: null,
      } as const
      return { result, serverTime: 0, maybeTwice: false }
    }
  }

  renew(ask: RenewRunAsk, attempt: Attempt): Promise<Answer<RenewRunResult>> {
    return this.#do(ask.address, attempt, 'late', (rules, late) => rules.renew(ask, late))
  }

  complete(ask: CompleteAsk, attempt: Attempt): Promise<Answer<CompleteResult>> {
    return this.#do(ask.address, attempt, 'write', (rules) => rules.complete(ask))
  }

  free(ask: FreeAsk, attempt: Attempt): Promise<Answer<FreeResult>> {
    return this.#do(ask.address, attempt, 'write', (rules) => rules.free(ask))
  }

  settle(ask: SettleAsk, attempt: Attempt): Promise<Answer<SettleRunResult>> {
    return this.#do(ask.address, attempt, 'late', (rules, late) => rules.settle(ask, late))
  }

  inspect(address: OnceAddress, attempt: Attempt): Promise<Answer<OnceView | null>> {
    return this.#do(address, attempt, 'read', (rules) => rules.inspect(address))
  }

  #do<R>(
    { key }: OnceAddress,
    attempt: Attempt,
    mode: StepMode,
    run: (rules: OnceRules, late: boolean) => R,
  ): Promise<Answer<R>> {
    return this.#step({ attempt, key, mode, reply: null, run })
  }
}
