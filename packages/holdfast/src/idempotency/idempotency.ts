import { attach } from '../attach.ts'
import {
  ClosedError,
  IdempotencyInProgressError,
  IdempotencyMismatchError,
  InvalidArgumentError,
  OutcomeUnknownError,
  type OnceKey,
  type OutcomeUnknownReason,
  type WorkOutcome,
} from '../errors.ts'
import { events, type OnceOutcomeKind } from '../events/channels.ts'
import { encodePart } from '../name.ts'
import { checkFunction } from '../options.ts'
import { onceAddress, type OnceAddress } from '../store/once/address.ts'
import type { OnceTransaction, OnceView, SettleRunResult } from '../store/once/contract.ts'
import { OnceCall, type CallContext, type Came } from './call.ts'
import { encodeOutcome } from './codec.ts'
import { failedTo, isLate, OnceCommands } from './commands.ts'
import type { IdempotentRun, Work } from './execution.ts'
import { infoOf, type OnceInfo } from './info.ts'
import type { OnceEngine } from './once-engine.ts'
import {
  checkIdempotencyOptions,
  checkKeyAndScope,
  checkRunOptions,
  checkSettlement,
  type CheckedIdempotencyOptions,
  type CheckedRunOptions,
  type IdempotencyKey,
  type IdempotencyOptions,
  type IdempotentRunOptions,
  type Settlement,
} from './options.ts'
import { TransactionalCall, type CameInTransaction } from './transactional-call.ts'

/** What `run` resolves with. */
export interface IdempotentOutcome<T> {
  /** What the work returned; of a replay: what the codec made of it. */
  readonly value: T
  /** Whether it is the outcome of an earlier run, or of one that another call waited for. */
  readonly replayed: boolean
}

/** What `settle` resolves with. `reason`: why there was nothing to settle. */
export type SettleResult =
  { readonly settled: true } | { readonly settled: false; readonly reason: 'running' | 'done' | 'missing' }

/**
 * Work that is done once for each key, and whose outcome is replayed to repeats. The object holds nothing of its own; all of
 * one name over one store share their keys.
 *
 * What it promises: a key is claimed in one atomic step, and of all calls with it one runs the work. With `onAbandoned: 'fail'`
 * the work is begun at most once until its outcome is settled; with `'retry'` it is begun again when its runner died. A run that
 * lost its key cannot overwrite what came after it. What it does not: a store that loses its data forgets what was run, and
 * work that goes on after its signal aborted is not stopped.
 */
export class Idempotency {
  readonly name: string
  /** The largest outcome that is stored, in bytes. */
  readonly maxBytes: number
  readonly #engine: OnceEngine
  readonly #options: CheckedIdempotencyOptions
  readonly #context: CallContext

  /** Made by `hf.idempotency()`. */
  constructor(engine: OnceEngine, name: string, options?: IdempotencyOptions) {
    encodePart(name, 'name')
    this.#options = checkIdempotencyOptions(options)
    this.#engine = engine
    this.#context = { engine, options: this.#options, commands: new OnceCommands(engine, this.#options) }
    this.name = name
    this.maxBytes = this.#options.maxBytes
  }

  /**
   * Runs `work` if this key was not run yet, else replays its outcome: resolves with its value, or rejects with its final error.
   * A new key costs two round trips, one before the work and one after it, and one for each renewal; a replay costs one. All
   * calls of one key in this process share them.
   *
   * A final outcome is stored before `run` resolves. One that is not final comes out as it is, and frees the key. The work's own
   * error is never replaced: what went wrong with its key rides along as its non-enumerable `holdfast`.
   *
   * With `transaction` the key is claimed, and its outcome stored, in that transaction of yours: commit it when `run` resolves, roll it back
   * when it rejects (a final error may be committed). Nobody else sees the outcome before, and when the process dies, record and business rows are gone
   * together: `onAbandoned` and `lease` have no part in it, nor has `onStoreError`. Calls of one process share nothing then. Others that come
   * meanwhile are told that it is in progress, or wait. It costs three statements, a replay one.
   *
   * @throws what the work throws, or threw; IdempotencyInProgressError when another call runs it longer than `wait`;
   *   IdempotencyMismatchError when the key was used with another payload; OutcomeUnknownError when nobody knows what an
   *   earlier run came to, and when this run could not store its outcome (then `work` says how it ended); the signal's reason;
   *   InvalidArgumentError, ClosedError; and with `onStoreError: 'throw'` StoreUnavailableError or StoreRefusedError, in which
   *   case the work did not run
   */
  async run<T>(
    ask: IdempotencyKey,
    options: IdempotentRunOptions | undefined,
    work: (run: IdempotentRun) => T | PromiseLike<T>,
  ): Promise<IdempotentOutcome<T>> {
    const about = this.#about(ask, 'run')
    const address = this.#address(about)
    const call = checkRunOptions(options)
    checkFunction(work, 'work', 'payments.run({ key, scope }, { fingerprint: body }, async (run) => { … })')
    this.#engine.assertOpen()
    if (call.signal?.aborted === true) throw call.signal.reason
    if (call.transaction !== null) return this.#runWithin(call.transaction.given, call, about, work)
    const began = this.#engine.clock.monotonic()
    let came: Came
    try {
      came = await new OnceCall(this.#context, { address, about, call, work }).run()
    } catch (error) {
      this.#tell(about, began, failureKind(error, call.signal), reasonOf(error), null)
      throw error
    }
    if (came.kind === 'replay') {
      this.#tell(about, began, 'replayed', null, null)
      return outcomeOf<T>(came.work, true)
    }
    const { execution, result } = came
    const { work: ended, trouble } = result
    this.#tell(about, began, ownKind(came), reasonOf(trouble), execution.attempt)
    if (trouble !== null && 'error' in ended) attach(ended.error, trouble)
    // A key that could not be freed yet is tried on in the background: the value is as good.
    if (trouble instanceof OutcomeUnknownError && 'value' in ended) throw trouble
    return outcomeOf<T>(ended, false)
  }

  async #runWithin<T>(
    given: unknown,
    call: CheckedRunOptions,
    about: OnceKey,
    work: Work,
  ): Promise<IdempotentOutcome<T>> {
    const transaction = this.#transaction(given)
    const began = this.#engine.clock.monotonic()
    const parts = { engine: this.#engine, options: this.#options, address: this.#address(about) }
    let came: CameInTransaction
    try {
      came = await new TransactionalCall({ ...parts, about, call, transaction }).run(work)
    } catch (error) {
      this.#tell(about, began, failureKind(error, call.signal), reasonOf(error), null)
      throw error
    }
    if (came.kind === 'replay') {
      this.#tell(about, began, 'replayed', null, null)
      return outcomeOf<T>(came.work, true)
    }
    const { work: ended, trouble, attempt, final } = came
    const kind = trouble instanceof OutcomeUnknownError ? 'unknown' : final ? 'ran' : 'freed'
    this.#tell(
      about,
      began,
      trouble === null || kind === 'unknown' ? kind : 'failed',
      reasonOf(trouble),
      attempt,
    )
    if (trouble === null) return outcomeOf<T>(ended, false)
    // Its transaction must not be committed, or not be believed.
    if ('value' in ended) throw trouble
    attach(ended.error, trouble)
    throw ended.error
  }

  /** @throws InvalidArgumentError */
  #transaction(given: unknown): OnceTransaction {
    const { store } = this.#engine
    if (store.within !== undefined) return store.within(given)
    throw new InvalidArgumentError('transaction', given === null ? null : typeof given, {
      problem: `cannot hold a record of the ${this.#engine.storeKind} store`,
      remedy: 'Use a store in the database of that transaction: postgresStore, mysqlStore or sqliteStore.',
    })
  }

  /**
   * What is known of a key. Changes nothing; one round trip. True when it was read, no longer.
   *
   * @returns `null` when it was never run, was freed, or has expired
   * @throws InvalidArgumentError, ClosedError, StoreUnavailableError, StoreRefusedError
   */
  async inspect(ask: IdempotencyKey): Promise<OnceInfo | null> {
    const address = this.#address(this.#about(ask, 'inspect'))
    this.#engine.assertOpen()
    const outcome = await this.#engine.operate<OnceView | null>(
      { what: 'inspect-run', ask: (attempt) => this.#engine.store.inspect(address, attempt) },
      this.#options.budget,
    )
    if (outcome.kind !== 'done') throw failedTo('Inspecting', address, outcome)
    return outcome.answer.result === null ? null : infoOf(outcome.answer.result)
  }

  /**
   * Decides about a key whose run ended unknown: with `{ value }` repeats are replayed that; with `{ retry: true }` the next call
   * runs the work again, and its `run.attempt` counts on. One round trip. A run that comes back after all cannot change it.
   *
   * @returns whether it was settled: a key that runs under its lease, or is done, is left as it is
   * @throws InvalidArgumentError (also for a value that the codec cannot encode, or that is larger than `maxBytes`), ClosedError,
   *   StoreUnavailableError, StoreRefusedError; it may be repeated then
   */
  async settle(ask: IdempotencyKey, settlement: Settlement): Promise<SettleResult> {
    const address = this.#address(this.#about(ask, 'settle'))
    const work = checkSettlement(settlement)
    this.#engine.assertOpen()
    const { codec, maxBytes, retention, budget } = this.#options
    const encoded = work === null ? null : await encodeOutcome(codec, maxBytes, work)
    if (encoded !== null && encoded.failure !== null) throw unsettled(encoded.failure.cause)
    // Encoding may have taken a while.
    this.#engine.assertOpen()
    const owner = this.#engine.newOwner()
    const request = { address, owner, outcome: encoded?.stored ?? null, retention }
    const outcome = await this.#engine.operate<SettleRunResult>(
      { what: 'settle-run', isLate, ask: (attempt) => this.#engine.store.settle(request, attempt) },
      budget,
    )
    if (outcome.kind !== 'done') throw failedTo('Settling', address, outcome)
    const { kind } = outcome.answer.result
    if (kind === 'late') throw new Error('an operation never ends with late')
    return kind === 'settled' ? { settled: true } : { settled: false, reason: kind }
  }

  #about(ask: IdempotencyKey, where: string): OnceKey {
    const { key, scope } = checkKeyAndScope(ask, where)
    return { idempotency: this.name, scope, key }
  }

  #address({ idempotency, scope, key }: OnceKey): OnceAddress {
    return onceAddress(this.#engine.prefix, idempotency, scope, key)
  }

  #tell(
    about: OnceKey,
    began: number,
    outcome: OnceOutcomeKind,
    reason: OutcomeUnknownReason | null,
    attempt: number | null,
  ): void {
    if (!events.onceOutcome.hasSubscribers) return
    const took = this.#engine.clock.monotonic() - began
    events.onceOutcome.publish({ ...about, outcome, reason, attempt, took })
  }
}

function outcomeOf<T>(work: WorkOutcome, replayed: boolean): IdempotentOutcome<T> {
  if ('error' in work) throw work.error
  return { value: work.value as T, replayed }
}

/** How a call ended whose own work ran. */
function ownKind({ execution, result }: Extract<Came, { kind: 'own' }>): OnceOutcomeKind {
  if (execution.unprotected) return 'unprotected'
  if (result.trouble instanceof OutcomeUnknownError) return 'unknown'
  if (result.trouble !== null) return 'failed'
  return result.final ? 'ran' : 'freed'
}

/** How a call ended that rejected before its work ran. */
function failureKind(error: unknown, signal: AbortSignal | null): OnceOutcomeKind {
  if (error instanceof IdempotencyInProgressError) return 'in-progress'
  if (error instanceof IdempotencyMismatchError) return 'mismatch'
  if (error instanceof OutcomeUnknownError) return 'unknown'
  if (error instanceof ClosedError) return 'closed'
  return signal?.aborted === true && signal.reason === error ? 'aborted' : 'failed'
}

function reasonOf(error: unknown): OutcomeUnknownReason | null {
  return error instanceof OutcomeUnknownError ? error.reason : null
}

function unsettled(cause: unknown): InvalidArgumentError {
  const problem = `cannot be stored: ${cause instanceof Error ? cause.message : String(cause)}`
  const remedy = 'Give a value that the codec can encode, not larger than maxBytes.'
  return new InvalidArgumentError('value', '…', { problem, remedy })
}
