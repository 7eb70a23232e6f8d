import { NO_PLACE } from '../bag.ts'
import { bounds } from '../defaults.ts'
import { ClosedError, OutcomeUnknownError, type OnceKey, type WorkOutcome } from '../errors.ts'
import type { OperationError } from '../store/failure.ts'
import type { Answer } from '../store/contract.ts'
import type { Attempt } from '../store/attempt.ts'
import type { OnceAddress } from '../store/once/address.ts'
import type { ClaimResult, OnceTransaction, StoredOutcome } from '../store/once/contract.ts'
import { inProgress, refuseOther, replayOf } from './answers.ts'
import { CallWait } from './call-wait.ts'
import { encodeOutcome, type Encoded } from './codec.ts'
import { failedTo } from './commands.ts'
import { judgementOf } from './judgement.ts'
import { workOutcome, type IdempotentRun, type Work } from './execution.ts'
import type { Closing, OnceEngine } from './once-engine.ts'
import type { CheckedIdempotencyOptions, CheckedRunOptions } from './options.ts'

/** What a call in a transaction comes to when it does not reject by itself. */
export type CameInTransaction =
  | {
      readonly kind: 'own'
      readonly work: WorkOutcome
      readonly attempt: number
      readonly final: boolean
      readonly trouble: Error | null
    }
  | { readonly kind: 'replay'; readonly work: WorkOutcome }

export interface TransactionalCallParts {
  readonly engine: OnceEngine
  readonly options: CheckedIdempotencyOptions
  readonly address: OnceAddress
  readonly about: OnceKey
  readonly call: CheckedRunOptions
  readonly transaction: OnceTransaction
}

/**
 * One call of `run` in a transaction of the caller's. Nothing is shared with other calls of this process, since what one came to is true only
 * when its transaction is committed; and there is no lease, since the transaction is one.
 */
export class TransactionalCall {
  readonly #parts: TransactionalCallParts
  readonly #owner: string
  /** Monotonic milliseconds until which it waits for others. */
  readonly #until: number

  constructor(parts: TransactionalCallParts) {
    this.#parts = parts
    this.#owner = parts.engine.newOwner()
    this.#until = parts.engine.clock.monotonic() + parts.call.wait
  }

  /** @throws what `Idempotency.run` says, but for what comes of the work itself */
  async run(work: Work): Promise<CameInTransaction> {
    const wait = new CallWait(this.#parts.engine, this.#parts.call.signal)
    try {
      const claimed = await this.#claim(wait)
      if (claimed.kind === 'done') {
        const { about, options } = this.#parts
        return { kind: 'replay', work: await replayOf(about, options.codec, claimed.outcome) }
      }
      // The work has begun: nothing interrupts this call any more.
      wait.end()
      return await this.#execute(work, claimed.attempt)
    } finally {
      wait.end()
    }
  }

  /** Asks until the key is ours or is done, pausing longer each time. */
  async #claim(wait: CallWait): Promise<Extract<ClaimResult, { kind: 'claimed' | 'done' }>> {
    const { engine, about, call, options, transaction } = this.#parts
    for (
      let pause: number = bounds.firstRepeatPoll;
      ;
      pause = Math.min(bounds.longestRepeatPoll, pause * 2)
    ) {
      const result = await wait.for(this.#ask())
      if (result === null || result.kind === 'late') throw new Error('a claim always has an answer')
      if (result.kind === 'claimed') return result
      refuseOther(about, result.fingerprint, call.fingerprint)
      if (result.kind === 'done') return result
      const left = result.kind === 'running' ? result.left : 0
      if (left === 0 && !options.retryAbandoned) throw new OutcomeUnknownError(about, 'abandoned')
      const isOver = engine.clock.monotonic() >= this.#until
      if (isOver || transaction.stopsOthers) throw inProgress(about, left)
      const ms = pause * (1 + engine.randomness.fraction()) * 0.5
      await wait.for(new Promise(() => undefined), Math.min(this.#until, engine.clock.monotonic() + ms))
    }
  }

  #ask(): Promise<ClaimResult> {
    const { address, call, options, transaction } = this.#parts
    const { lease, retention, retryAbandoned } = options
    const ask = {
      address,
      owner: this.#owner,
      fingerprint: call.fingerprint,
      lease,
      retention,
      retryAbandoned,
    }
    const claim = (attempt: Attempt): Promise<Answer<ClaimResult>> => transaction.claim(ask, attempt)
    return this.#operate('claim-run', 'Claiming', claim, transaction.waits)
  }

  async #execute(work: Work, attempt: number): Promise<CameInTransaction> {
    const { engine } = this.#parts
    const controller = new AbortController()
    const closing: Closing = { place: NO_PLACE, close: () => controller.abort(new ClosedError()) }
    engine.add(closing)
    engine.begin()
    try {
      const outcome = await workOutcome(work, this.#runOf(attempt, controller.signal))
      const judged = judgementOf(this.#parts.options.isFinal, outcome)
      const final = judged !== false
      const trouble = final ? await this.#complete(outcome, judged, attempt) : await this.#free()
      return { kind: 'own', work: outcome, attempt, final, trouble }
    } finally {
      engine.remove(closing)
      engine.ended()
    }
  }

  #runOf(attempt: number, signal: AbortSignal): IdempotentRun {
    const { key, scope } = this.#parts.about
    return { key, scope, attempt, owner: this.#owner, unprotected: false, signal }
  }

  /** Stores the outcome. Tells why the transaction must not be committed, or what repeats will not see. */
  async #complete(work: WorkOutcome, judged: true | Encoded, attempt: number): Promise<Error | null> {
    const { about, options } = this.#parts
    const encoded = judged === true ? await encodeOutcome(options.codec, options.maxBytes, work) : judged
    const kept = await this.#store(encoded.stored, attempt)
    if (kept instanceof Error) return kept
    if (!kept) return new OutcomeUnknownError(about, 'taken', { work })
    const { failure } = encoded
    return failure === null
      ? null
      : new OutcomeUnknownError(about, failure.reason, { work, cause: failure.cause })
  }

  async #store(outcome: StoredOutcome, attempt: number): Promise<boolean | Error> {
    const { address, call, options, transaction } = this.#parts
    const { retention } = options
    const ask = { address, owner: this.#owner, fingerprint: call.fingerprint, attempt, outcome, retention }
    try {
      const { kind } = await this.#operate('complete-run', 'Storing the outcome of', (one) =>
        transaction.complete(ask, one),
      )
      return kind === 'done'
    } catch (error) {
      return error as OperationError
    }
  }

  /** Takes the claim back, in case the caller commits all the same. In a transaction that has failed it cannot, and need not. */
  async #free(): Promise<Error | null> {
    const { address, options, transaction } = this.#parts
    const ask = { address, owner: this.#owner, started: true, retention: options.retention }
    try {
      await this.#operate('free-run', 'Freeing', (attempt) => transaction.free(ask, attempt))
      return null
    } catch (error) {
      return error as OperationError
    }
  }

  /** One try: a transaction in which something failed can only be rolled back. */
  async #operate<R>(
    what: string,
    doing: string,
    ask: (attempt: Attempt) => Promise<Answer<R>>,
    more = 0,
  ): Promise<R> {
    const { engine, address, options } = this.#parts
    const outcome = await engine.operate<R>({ what, ask, tries: 1 }, options.budget + more)
    if (outcome.kind !== 'done') throw failedTo(doing, address, outcome)
    return outcome.answer.result
  }
}
