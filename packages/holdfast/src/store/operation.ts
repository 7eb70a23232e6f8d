import type { Clock } from '../clock.ts'
import { bounds } from '../defaults.ts'
import { events } from '../events/channels.ts'
import type { Schedule, Scheduled } from '../schedule.ts'
import { Attempt } from './attempt.ts'
import type { Answer, AnswerListener } from './contract.ts'
import { asStoreFailure, StoreFailure } from './failure.ts'

/** A timer that comes later than this after its time was kept back: the event loop was blocked, and answers may lie unread. */
const LATE_TIMER_MS = 10

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

/** An answer that is not the last word. */
interface WeakAnswer<R> {
  readonly answer: Answer<R>
  readonly attempt: Attempt
}

const NO_ATTEMPTS: readonly Attempt[] = []

/** Hears how an operation ended; once. */
export interface OperationListener<R> {
  ended(outcome: Outcome<R>, operation: Operation<R>): void
}

/** What all operations on a store share. */
export interface OperationContext {
  readonly clock: Clock
  /** The store's kind, for the error event. */
  readonly storeKind: string
  /** When those are asked again for which the process stays alive. One timer for all of them. */
  readonly foreground: Schedule
  /** The same for what goes on in the background. */
  readonly schedule: Schedule
}

/** What an operation is. */
export interface OperationPlan<R> {
  /** For the error event. */
  readonly what: string
  readonly ask: (attempt: Attempt) => Promise<Answer<R>>
  /** The same, for stores that can do without a promise; `false` when this one cannot be asked so. */
  readonly askFor?: (attempt: Attempt, listener: AnswerListener<R>) => boolean
  /** Whether this answer speaks of a copy only (`late`): the operation asks again. */
  readonly isLate?: (result: R) => boolean
  /**
   * Whether this answer is the last word only when no other try is out: what was refused to one may have been done for another,
   * a moment later. Waited for until the budget's end, and no further try is made. Where the client itself may have sent the only
   * try twice, one more is made: its answer stands for the copy that is still under way.
   */
  readonly isWeak?: (result: R) => boolean
  /** Monotonic milliseconds after which the store must not act, when that is before the budget's end. */
  readonly validUntil?: number
  /** At most so many tries; as many as the budget allows when left out. */
  readonly tries?: number
  /** Whether the process need not stay alive for it. */
  readonly background?: boolean
}

/**
 * One operation on a store within a time budget of ours. A third of the budget per try, or all of it for the only one; a try that stays unanswered is
 * followed by another while the first may still answer, and the first real answer of any of them counts. Settles within
 * the budget whatever the client or the server does.
 */
export class Operation<R> implements Scheduled, AnswerListener<R> {
  dueAt = 0
  readonly early = 0
  heapIndex = -1
  readonly #context: OperationContext
  readonly #plan: OperationPlan<R>
  readonly #budget: number
  readonly #begun: number
  readonly #until: number
  #attempts: readonly Attempt[] = NO_ATTEMPTS
  #failure: StoreFailure | null = null
  #listener: OperationListener<R> | null = null
  #unanswered = 0
  /** Whether some try ended without telling whether it was done. */
  #doubtful = false
  /** An answer that counts unless another try brings a better one. */
  #weak: WeakAnswer<R> | null = null

  /**
   * @param budget milliseconds for the whole operation, repeats included
   * @param now monotonic milliseconds, for those who have just read them: reading clocks is a good part of a quick operation
   */
  constructor(
    context: OperationContext,
    plan: OperationPlan<R>,
    budget: number,
    now = context.clock.monotonic(),
  ) {
    this.#context = context
    this.#plan = plan
    this.#budget = budget
    this.#begun = now
    this.#until = now + budget
  }

  /** Every try so far. */
  get attempts(): readonly Attempt[] {
    return this.#attempts
  }

  /** Begins, and tells the listener how it ended, unless it is abandoned before. */
  start(listener: OperationListener<R>): void {
    this.#listener = listener
    this.#try(this.#begun)
  }

  run(): Promise<Outcome<R>> {
    return new Promise((resolve) => this.start({ ended: resolve }))
  }

  /** Ends the wait and sends nothing any more; nobody is told. */
  abandon(): void {
    for (const attempt of this.#attempts) attempt.abandoned = true
    this.#listener = null
    this.#schedule.remove(this)
  }

  /** The last try was not answered for long enough, or a pause is over. */
  onDue(): void {
    const { clock } = this.#context
    const now = clock.monotonic()
    if (now - this.dueAt < LATE_TIMER_MS) return this.#try(now)
    // What arrived while the event loop was blocked is read in this very turn, after the timers.
    clock.endOfTurn(() => {
      if (this.#listener !== null && this.heapIndex < 0) this.#try(clock.monotonic())
    })
  }

  get #schedule(): Schedule {
    return this.#plan.background === true ? this.#context.schedule : this.#context.foreground
  }

  #try(now: number): void {
    if (this.#weak !== null) return this.#concludeWeakly(this.#weak)
    this.#send(now)
  }

  #send(now: number): void {
    const { validUntil, tries = Infinity } = this.#plan
    const left = this.#until - now
    if (left < SHORTEST_TRY_MS || this.#attempts.length >= tries) return this.#giveUp()
    const end = now + this.#budget
    // A call that counts may be asked again for twice its budget, however late in it this try is.
    const again = this.#until + this.#budget
    const attempt = new Attempt(
      this.#until,
      validUntil === undefined ? end : Math.min(end, validUntil),
      again,
    )
    // Nearly always there is one.
    this.#attempts = this.#attempts === NO_ATTEMPTS ? [attempt] : [...this.#attempts, attempt]
    attempt.afterSilence = this.#unanswered > 0
    this.#unanswered += 1
    this.#schedule.put(this, now + Math.min(this.#budget / Math.min(tries, bounds.triesPerBudget), left))
    let asked: Promise<Answer<R>>
    try {
      if (this.#plan.askFor?.(attempt, this) === true) return
      asked = this.#plan.ask(attempt)
    } catch (error) {
      // A store that throws where it should reject.
      asked = Promise.reject(error)
    }
    asked.then(
      (answer) => this.answered(answer, attempt),
      (error: unknown) => this.failed(error),
    )
  }

  #tryIn(ms: number): void {
    this.#schedule.put(this, this.#context.clock.monotonic() + ms)
  }

  /** Of a try. */
  answered(answer: Answer<R>, attempt: Attempt): void {
    this.#unanswered -= 1
    if (this.#listener === null) return
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
    if (this.#unanswered > 0 && this.#plan.isWeak?.(answer.result) === true) {
      this.#weak = { answer, attempt }
      return this.#schedule.put(this, this.#until)
    }
    if (answer.maybeTwice && this.#attempts.length === 1 && this.#plan.isWeak?.(answer.result) === true) {
      this.#weak = { answer, attempt }
      return this.#send(this.#context.clock.monotonic())
    }
    this.#conclude(answer, attempt)
  }

  #concludeWeakly({ answer, attempt }: WeakAnswer<R>): void {
    this.#conclude(answer, attempt)
  }

  #conclude(answer: Answer<R>, attempt: Attempt): void {
    this.#end({ kind: 'done', answer, attempt, doubtful: this.#doubtful || this.#unanswered > 0 })
  }

  /** Of a try. */
  failed(error: unknown): void {
    this.#unanswered -= 1
    if (this.#listener === null) return
    const failure = asStoreFailure(error)
    this.#failure = failure
    if (failure.outcome === 'unknown') this.#doubtful = true
    this.#tell(failure)
    if ((failure.final || failure.exhausted) && this.#weak === null) return this.#giveUp()
    this.#again(bounds.pauseBetweenTries)
  }

  /**
   * Asks again after `pause`, unless another try is still out: then its silence decides. A try that has no time left for
   * its answer would only make an outcome unknown that is known.
   */
  #again(pause: number): void {
    if (this.#unanswered > 0) return
    if (this.#weak !== null) return this.#concludeWeakly(this.#weak)
    const left = this.#until - this.#context.clock.monotonic()
    if (left < Math.min(2 * pause, this.#budget / 2)) this.#giveUp()
    else this.#tryIn(Math.min(pause, left))
  }

  #giveUp(): void {
    if (this.#weak !== null) return this.#concludeWeakly(this.#weak)
    const failure = this.#failure ?? silent()
    if (this.#failure === null) this.#tell(failure)
    const unsure = this.#unanswered > 0 || this.#doubtful || failure.outcome === 'unknown'
    const sent = this.#attempts.some((attempt) => attempt.sent !== null)
    this.#end({ kind: unsure && sent ? 'unknown' : 'refused', failure })
  }

  #end(outcome: Outcome<R>): void {
    const listener = this.#listener
    this.abandon()
    listener?.ended(outcome, this)
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
