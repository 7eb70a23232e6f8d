import type { Clock, Timer } from '../clock.ts'
import { bounds } from '../defaults.ts'
import { events } from '../events/channels.ts'
import { Attempt } from './attempt.ts'
import type { Answer } from './contract.ts'
import { StoreFailure } from './failure.ts'

/** Less time than this is left over by rounding, and is none for a try. */
const SHORTEST_TRY_MS = 1

/** How an operation ended: the three outcomes of every call to a store. */
export type Outcome<R> =
  | {
      readonly kind: 'done'
      readonly answer: Answer<R>
      readonly attempt: Attempt
      /** Whether another try than the answered one may have been acted on. */
      readonly doubtful: boolean
    }
  | { readonly kind: 'refused'; readonly failure: StoreFailure }
  | { readonly kind: 'unknown'; readonly failure: StoreFailure }

/** What all operations on a store share. */
export interface OperationContext {
  readonly clock: Clock
  /** The store's kind, for the error event. */
  readonly storeKind: string
}

/** What an operation is. */
export interface OperationPlan<R> {
  /** For the error event. */
  readonly what: string
  readonly ask: (attempt: Attempt) => Promise<Answer<R>>
  /** Whether this answer speaks of a copy only (`late`): the operation asks again. */
  readonly isLate?: (result: R) => boolean
  /** Monotonic milliseconds after which the store must not act, when that is before the budget's end. */
  readonly validUntil?: number
  /** At most so many tries; as many as the budget allows when left out. */
  readonly tries?: number
  /** Whether the process need not stay alive for it. */
  readonly background?: boolean
}

/**
 * One operation on a store within a time budget of ours. A third of the budget per try; a try that stays unanswered is
 * followed by another while the first may still answer, and the first real answer of any of them counts. Settles within
 * the budget whatever the client or the server does.
 */
export class Operation<R> {
  readonly #context: OperationContext
  readonly #plan: OperationPlan<R>
  readonly #budget: number
  readonly #until: number
  readonly #attempts: Attempt[] = []
  #failure: StoreFailure | null = null
  #timer: Timer | null = null
  #settle: ((outcome: Outcome<R>) => void) | null = null
  #unanswered = 0
  /** Whether some try ended without telling whether it was done. */
  #doubtful = false

  /** @param budget milliseconds for the whole operation, repeats included */
  constructor(context: OperationContext, plan: OperationPlan<R>, budget: number) {
    this.#context = context
    this.#plan = plan
    this.#budget = budget
    this.#until = context.clock.monotonic() + budget
  }

  /** Every try so far. */
  get attempts(): readonly Attempt[] {
    return this.#attempts
  }

  /** Begins, and calls `settle` once. */
  start(settle: (outcome: Outcome<R>) => void): void {
    this.#settle = settle
    this.#try()
  }

  run(): Promise<Outcome<R>> {
    return new Promise((resolve) => this.start(resolve))
  }

  /** Ends the wait and sends nothing any more; nobody is told. */
  abandon(): void {
    for (const attempt of this.#attempts) attempt.abandoned = true
    this.#settle = null
    this.#timer?.cancel()
  }

  #try(): void {
    const { validUntil, tries = Infinity } = this.#plan
    const now = this.#context.clock.monotonic()
    const left = this.#until - now
    if (left < SHORTEST_TRY_MS || this.#attempts.length >= tries) return this.#giveUp()
    const end = now + this.#budget
    const attempt = new Attempt(this.#until, validUntil === undefined ? end : Math.min(end, validUntil))
    this.#attempts.push(attempt)
    this.#unanswered += 1
    this.#tryIn(Math.min(this.#budget / bounds.triesPerBudget, left))
    this.#plan.ask(attempt).then(
      (answer) => this.#answered(answer, attempt),
      (error: unknown) => this.#failed(error),
    )
  }

  #tryIn(ms: number): void {
    this.#timer?.cancel()
    const keepAlive = this.#plan.background !== true
    this.#timer = this.#context.clock.setTimer(() => this.#try(), ms, { keepAlive })
  }

  #answered(answer: Answer<R>, attempt: Attempt): void {
    this.#unanswered -= 1
    if (this.#settle === null) return
    if (this.#plan.isLate !== undefined && this.#plan.isLate(answer.result)) {
      this.#doubtful = true
      this.#failure = new StoreFailure('the request reached the store too late to be acted on', {
        kind: 'unreachable',
        outcome: 'unknown',
        final: false,
        reason: 'late',
      })
      return this.#again(0)
    }
    const doubtful = this.#doubtful || this.#unanswered > 0
    this.#end({ kind: 'done', answer, attempt, doubtful })
  }

  #failed(error: unknown): void {
    this.#unanswered -= 1
    if (this.#settle === null) return
    const failure = asFailure(error)
    this.#failure = failure
    if (failure.outcome === 'unknown') this.#doubtful = true
    this.#tell(failure)
    if (failure.final) return this.#giveUp()
    this.#again(bounds.pauseBetweenTries)
  }

  /**
   * Asks again after `pause`, unless another try is still out: then its silence decides. A try that has no time left for
   * its answer would only make an outcome unknown that is known.
   */
  #again(pause: number): void {
    if (this.#unanswered > 0) return
    const left = this.#until - this.#context.clock.monotonic()
    if (left < Math.min(2 * pause, this.#budget / 2)) this.#giveUp()
    else this.#tryIn(pause)
  }

  #giveUp(): void {
    const failure = this.#failure ?? silent()
    if (this.#failure === null) this.#tell(failure)
    const unsure = this.#unanswered > 0 || this.#doubtful || failure.outcome === 'unknown'
    const sent = this.#attempts.some((attempt) => attempt.sent !== null)
    this.#end({ kind: unsure && sent ? 'unknown' : 'refused', failure })
  }

  #end(outcome: Outcome<R>): void {
    const settle = this.#settle
    this.abandon()
    settle?.(outcome)
  }

  #tell(failure: StoreFailure): void {
    if (!events.storeError.hasSubscribers) return
    const { reason, outcome } = failure
    events.storeError.publish({ store: this.#context.storeKind, operation: this.#plan.what, reason, outcome })
  }
}

function silent(): StoreFailure {
  return new StoreFailure('the store did not answer in time', {
    kind: 'unreachable',
    outcome: 'unknown',
    final: false,
    reason: 'silent',
  })
}

/** A store that throws something else has a fault of its own; what it did is unknown. */
function asFailure(error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error
  const message = error instanceof Error ? error.message : String(error)
  return new StoreFailure(message, {
    kind: 'unreachable',
    outcome: 'unknown',
    final: true,
    reason: 'fault',
    cause: error,
  })
}
