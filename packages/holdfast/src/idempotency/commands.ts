import { instantOf, type Instant } from '../clock.ts'
import { bounds } from '../defaults.ts'
import type { Attempt } from '../store/attempt.ts'
import type { AnswerListener } from '../store/contract.ts'
import { publicError, type OperationError, type StoreFailure } from '../store/failure.ts'
import type { OnceAddress } from '../store/once/address.ts'
import type {
  ClaimResult,
  CompleteResult,
  FreeResult,
  RenewRunResult,
  StoredOutcome,
} from '../store/once/contract.ts'
import type { Operation, Outcome } from '../store/operation.ts'
import type { OnceEngine } from './once-engine.ts'
import type { CheckedIdempotencyOptions } from './options.ts'

/** Between two tries of what goes on in the background, at most, in milliseconds. */
const LONGEST_PAUSE = 1_000
/** The same for a claim that could not be given back for a whole lease: many may have come together by then. */
const LONGEST_LATE_PAUSE = 30_000
/** Claims of one idempotency that are given back for longer than a lease. What is beyond is told as abandoned, as after a crash. */
const MOST_LATE = 1_000

/** A claim that was granted: what is needed to end it. */
export interface Claim {
  readonly address: OnceAddress
  readonly owner: string
  readonly fingerprint: string | null
  readonly attempt: number
  /** When it was asked for: its lease counts from there. */
  readonly sent: Instant
  /** The server's time until which a further copy of it may still arrive; `null` when there is none. */
  readonly unfinishedUntil: number | null
}

type Failed = { readonly kind: 'refused' | 'unknown'; readonly failure: StoreFailure }

/** What the store said of a key, or that it did not. */
export type Asked =
  | { readonly kind: 'claimed'; readonly claim: Claim }
  /** It was claimed for a call that had gone by then, and was given back. */
  | { readonly kind: 'given-back' }
  | Exclude<ClaimResult, { readonly kind: 'claimed' | 'late' }>
  | { readonly kind: 'failed'; readonly error: OperationError }

export type Terms = Pick<CheckedIdempotencyOptions, 'lease' | 'retention' | 'retryAbandoned' | 'budget'>

/** The calls of one idempotency to its store. None of them rejects. */
export class OnceCommands {
  readonly #engine: OnceEngine
  readonly #terms: Terms
  #late = 0

  constructor(engine: OnceEngine, terms: Terms) {
    this.#engine = engine
    this.#terms = terms
  }

  /**
   * Takes the key if it may be run, and tells how that went; once. What may have been claimed without an answer, or by another copy
   * than the one that was answered, is given back in the background.
   */
  claim(address: OnceAddress, fingerprint: string | null, heard: (asked: Asked) => void): void {
    const { store, clock } = this.#engine
    const { lease, retention, retryAbandoned, budget } = this.#terms
    const owner = this.#engine.newOwner()
    const began = instantOf(clock)
    const ask = { address, owner, fingerprint, lease, retention, retryAbandoned }
    const claimed = (attempt: number, sent: Instant, unfinishedUntil: number | null): Claim => {
      return { address, owner, fingerprint, attempt, sent, unfinishedUntil }
    }
    const ended = (outcome: Outcome<ClaimResult>, operation: Operation<ClaimResult>): void => {
      const lastMoment = lastMomentOf(operation)
      if (outcome.kind !== 'done') {
        if (outcome.kind === 'unknown') void this.free(claimed(1, began, lastMoment), false)
        return heard({ kind: 'failed', error: failedTo('Claiming', address, outcome) })
      }
      const { answer, attempt, doubtful } = outcome
      const { result } = answer
      if (result.kind === 'late') throw new Error('an operation never ends with late')
      const unfinished = doubtful || answer.maybeTwice ? lastMoment : null
      if (result.kind === 'claimed')
        return heard({ kind: 'claimed', claim: claimed(result.attempt, attempt.sent ?? began, unfinished) })
      // What was refused to one copy another may have got, or may get yet; but not where an outcome is stored.
      if (unfinished !== null && result.kind !== 'done') void this.free(claimed(1, began, unfinished), false)
      heard(result)
    }
    const plan = {
      what: 'claim-run',
      isLate,
      ask: (attempt: Attempt) => store.claim(ask, attempt),
      askFor: (attempt: Attempt, listener: AnswerListener<ClaimResult>) =>
        store.claimFor?.(ask, attempt, listener) ?? false,
    }
    this.#engine.start<ClaimResult>(plan, budget, { ended })
  }

  /** Prolongs the lease, within so many milliseconds. */
  async renew({ address, owner }: Claim, within: number): Promise<Renewal> {
    const { store, clock } = this.#engine
    const { lease, retention, budget } = this.#terms
    const began = instantOf(clock)
    const outcome = await this.#engine.operate<RenewRunResult>(
      {
        what: 'renew-run',
        background: true,
        validUntil: began.monotonic + within,
        isLate,
        ask: (attempt) => store.renew({ address, owner, lease, retention }, attempt),
      },
      Math.min(within, budget),
    )
    if (outcome.kind !== 'done') return { kind: 'failed' }
    const { kind } = outcome.answer.result
    if (kind === 'missing' || kind === 'other') return { kind }
    return { kind: 'renewed', at: outcome.attempt.sent ?? began }
  }

  /**
   * Stores an outcome. When the store does not answer within the budget it is tried on in the background, for as long as the
   * lease.
   *
   * @param whenOver called when it came through, or will not any more
   */
  complete(
    { address, owner, fingerprint, attempt: run }: Claim,
    outcome: StoredOutcome,
    whenOver: () => void,
  ): Promise<CompleteResult['kind'] | OperationError> {
    const { store, clock } = this.#engine
    const { retention, lease, budget } = this.#terms
    const ask = { address, owner, fingerprint, attempt: run, outcome, retention }
    const plan = {
      what: 'complete-run',
      ask: (attempt: Attempt) => store.complete(ask, attempt),
      askFor: (attempt: Attempt, listener: AnswerListener<CompleteResult>) =>
        store.completeFor?.(ask, attempt, listener) ?? false,
    }
    return new Promise((resolve) => {
      const ended = (first: Outcome<CompleteResult>): void => {
        if (first.kind === 'done') {
          whenOver()
          return resolve(first.answer.result.kind)
        }
        const again = () => this.#engine.operate<CompleteResult>({ ...plan, background: true }, budget)
        void this.#until(clock.monotonic() + lease, first, again, () => 0).then(whenOver)
        resolve(failedTo('Storing the outcome of', address, first))
      }
      this.#engine.start<CompleteResult>(plan, budget, { ended })
    })
  }

  /**
   * Frees the key, and goes on in the background until no copy of its claim can arrive any more: one that came after it
   * would claim the key for nobody. What was not begun is given back for as long as it might be told as abandoned: until its
   * retention is over.
   *
   * @param started whether the work was begun
   */
  async free(
    { address, owner, unfinishedUntil }: Claim,
    started: boolean,
  ): Promise<FreeResult['kind'] | OperationError> {
    const { store, clock } = this.#engine
    const { retention, lease, budget } = this.#terms
    const ask = (attempt: Attempt) => store.free({ address, owner, started, retention }, attempt)
    const tryOnce = (background: boolean): Promise<Outcome<FreeResult>> =>
      this.#engine.operate<FreeResult>({ what: 'free-run', background, ask }, budget)
    const left = (serverTime: number): number =>
      unfinishedUntil === null ? 0 : Math.max(0, unfinishedUntil - serverTime + 1)
    const first = await tryOnce(false)
    const now = clock.monotonic()
    void this.#until(now + lease, first, () => tryOnce(true), left, started ? 0 : now + retention)
    return first.kind === 'done' ? first.answer.result.kind : failedTo('Freeing', address, first)
  }

  /**
   * Repeats until an answer leaves no time to go, the time is over, or everything is. Closing waits for it.
   *
   * @param lateUntil until when some may go on beyond `giveUpAt`, more seldom
   */
  async #until<R>(
    giveUpAt: number,
    first: Outcome<R>,
    again: () => Promise<Outcome<R>>,
    left: (serverTime: number) => number,
    lateUntil = 0,
  ): Promise<void> {
    const { clock } = this.#engine
    this.#engine.begin()
    let pause: number = bounds.pauseBetweenTries
    let isLate = false
    for (let outcome = first; ; outcome = await again()) {
      if (outcome.kind === 'done') {
        const rest = left(outcome.answer.serverTime)
        if (rest === 0) break
        pause = rest
      } else {
        if (outcome.failure.final) break
        pause = Math.min(isLate ? LONGEST_LATE_PAUSE : LONGEST_PAUSE, pause * 2)
      }
      const now = clock.monotonic()
      if (!isLate && now >= giveUpAt && now < lateUntil && this.#late < MOST_LATE) {
        isLate = true
        this.#late += 1
      }
      if (now >= (isLate ? lateUntil : giveUpAt) || this.#engine.over) break
      await this.#engine.pause(pause)
      if (this.#engine.over) break
    }
    if (isLate) this.#late -= 1
    this.#engine.ended()
  }
}

/** How a renewal went. `at`: when it was asked for; the lease counts from there. */
export type Renewal =
  | { readonly kind: 'renewed'; readonly at: Instant }
  | { readonly kind: 'missing' }
  | { readonly kind: 'other' }
  | { readonly kind: 'failed' }

/** The public error for an operation about a key that was not done. */
export function failedTo(
  doing: string,
  { idempotency, scope, id }: OnceAddress,
  outcome: Failed,
): OperationError {
  const what = [id, scope].map((text) => JSON.stringify(text)).join(' in the scope ')
  return publicError(outcome, `${doing} the key ${what} of ${JSON.stringify(idempotency)}`)
}

/** The server's time after which no copy of an operation can be acted on; `null` when nothing was sent. */
function lastMomentOf<R>({ attempts }: Operation<R>): number | null {
  let last: number | null = null
  for (const { notAfter } of attempts) if (notAfter !== null) last = Math.max(last ?? 0, notAfter)
  return last
}

export function isLate({ kind }: { readonly kind: string }): boolean {
  return kind === 'late'
}
