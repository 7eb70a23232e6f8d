import type { Decision } from './limit/decision.ts'
import type { Shortfall } from './store/shortfall.ts'
import { show } from './show.ts'

/** Why a held lock is lost. */
export type LossReason = 'expired' | 'taken' | 'missing' | 'unreachable' | 'max-hold' | 'forced'

/** The code of every error of this library: the class's name without `Error`, in capitals. */
export type ErrorCode =
  | 'INVALID_ARGUMENT'
  | 'LOCK_TIMEOUT'
  | 'LOCK_LOST'
  | 'CLOSED'
  | 'STORE_UNAVAILABLE'
  | 'STORE_REFUSED'
  | 'QUORUM_IMPOSSIBLE'
  | 'NOT_ACKNOWLEDGED'
  | 'RATE_LIMITED'
  | 'SLOT_LOST'
  | 'STALE_FENCE'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'IDEMPOTENCY_MISMATCH'
  | 'OUTCOME_UNKNOWN'

const BRAND = Symbol.for('holdfast.error')

interface ErrorParts {
  readonly retryable: boolean
  readonly outcome: 'not-done' | 'unknown'
  readonly cause?: unknown
  readonly details?: Readonly<Record<string, unknown>>
}

/**
 * What every error of this library is. `instanceof` works by brand and code, so that an error of the CommonJS copy is
 * recognised by the ES module copy and the other way round.
 */
export class HoldfastError extends Error {
  static readonly code: ErrorCode | null = null

  readonly code: ErrorCode
  /** Whether the same call may succeed later without anything else being mended. */
  readonly retryable: boolean
  /** `'unknown'` when the store may have done what was asked. */
  readonly outcome: 'not-done' | 'unknown'
  /** The values the message speaks of. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, parts: ErrorParts) {
    super(message, 'cause' in parts && parts.cause !== undefined ? { cause: parts.cause } : undefined)
    this.code = code
    this.retryable = parts.retryable
    this.outcome = parts.outcome
    this.details = parts.details ?? {}
    Object.defineProperty(this, BRAND, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isHoldfastError(value) && (this.code === null || value.code === this.code)
  }

  toJSON(): Record<string, unknown> {
    const { name, code, message, retryable, outcome, details } = this
    return { name, code, message, retryable, outcome, details }
  }
}

/** Tells an error of this library, of whichever copy, from any other value; with `code`, one kind of them. */
export function isHoldfastError(value: unknown, code?: ErrorCode): value is HoldfastError {
  if (typeof value !== 'object' || value === null || !(BRAND in value)) return false
  return code === undefined || (value as unknown as HoldfastError).code === code
}

/** A name, option or call was wrong. Thrown before anything is sent to the store. */
export class InvalidArgumentError extends HoldfastError {
  static override readonly code = 'INVALID_ARGUMENT'
  override readonly name = 'InvalidArgumentError'
  /** The option that was wrong. */
  readonly option: string

  constructor(option: string, value: unknown, what: { problem: string; remedy: string }) {
    super('INVALID_ARGUMENT', `${option}: ${show(value)} ${what.problem}. ${what.remedy}`, {
      retryable: false,
      outcome: 'not-done',
      details: { option, value: show(value) },
    })
    this.option = option
  }
}

/** The lock was busy until the wait ran out. Nothing of ours is left behind. */
export class LockTimeoutError extends HoldfastError {
  static override readonly code = 'LOCK_TIMEOUT'
  override readonly name = 'LockTimeoutError'
  /** The owner who was seen to hold the lock last; `null` when nobody was (another waiter's turn). */
  readonly holder: string | null

  constructor(lock: string, waited: number, holder: string | null) {
    const who = holder === null ? 'others are before us' : `held by ${holder}`
    super('LOCK_TIMEOUT', `The lock ${show(lock)} was not free within ${Math.round(waited)} ms: ${who}.`, {
      retryable: true,
      outcome: 'not-done',
      details: { lock, waited, holder },
    })
    this.holder = holder
  }
}

const LOSS_MEANING: Record<LossReason | 'released', string> = {
  expired: 'its time was over before it could be renewed',
  taken: 'another owner stands in its place on the server',
  missing: 'its key is no longer on the server (deleted, flushed or evicted)',
  unreachable: 'the server did not answer a renewal before its time was over',
  'max-hold': 'it was held for as long as maxHold allows',
  forced: 'an operator released it by force',
  released: 'its holder has released it already',
}

/** How the work ended that ran while the lock was lost. */
export type WorkOutcome = { readonly value: unknown } | { readonly error: unknown }

/** The lock is not, or no longer, held. It is also the reason of a held lock's aborted signal. */
export class LockLostError extends HoldfastError {
  static override readonly code = 'LOCK_LOST'
  override readonly name = 'LockLostError'
  /** Why; `'released'` when the holder itself gave the lock back, by `release()` or `close()`. */
  readonly reason: LossReason | 'released'
  /** What the work returned or threw, when the error comes out of `run`. */
  readonly work: WorkOutcome | null

  constructor(lock: string, reason: LossReason | 'released', work: WorkOutcome | null = null) {
    const ended =
      work === null ? '' : ' The work went on to its end: look at `work` for what it returned or threw.'
    super('LOCK_LOST', `The lock ${show(lock)} is not held: ${LOSS_MEANING[reason]}.${ended}`, {
      retryable: false,
      outcome: work === null ? 'not-done' : 'unknown',
      details: { lock, reason },
    })
    this.reason = reason
    this.work = work
  }
}

/** The Holdfast instance was closed; waiting calls are rejected with it as well as later ones. */
export class ClosedError extends HoldfastError {
  static override readonly code = 'CLOSED'
  override readonly name = 'ClosedError'

  constructor() {
    super('CLOSED', 'This Holdfast instance is closed. Create another one to go on.', {
      retryable: false,
      outcome: 'not-done',
    })
  }
}

/** The store did not answer within the budget. With `outcome: 'unknown'` it may have done what was asked. */
export class StoreUnavailableError extends HoldfastError {
  static override readonly code = 'STORE_UNAVAILABLE'
  override readonly name = 'StoreUnavailableError'

  constructor(message: string, outcome: 'not-done' | 'unknown', cause?: unknown) {
    super('STORE_UNAVAILABLE', message, { retryable: true, outcome, cause })
  }
}

/** The store answered, and refused. The message holds what it said and how to mend it. */
export class StoreRefusedError extends HoldfastError {
  static override readonly code = 'STORE_REFUSED'
  override readonly name = 'StoreRefusedError'

  constructor(
    message: string,
    parts: { retryable: boolean; outcome: 'not-done' | 'unknown'; reason: string; cause?: unknown },
  ) {
    super('STORE_REFUSED', message, { ...parts, details: { reason: parts.reason } })
  }
}

/** How one node of a quorum failed. */
export interface NodeFailure {
  /** Its place in the list that `quorumStore` was given, from 0. */
  readonly node: number
  /** The server's own code (`READONLY`) or a word of ours (`connection`, `silent`). */
  readonly reason: string
}

/**
 * So many nodes of a quorum refused, were down or did not answer in time that a majority was impossible. What single nodes had
 * granted is given back, in the background.
 */
export class QuorumImpossibleError extends HoldfastError {
  static override readonly code = 'QUORUM_IMPOSSIBLE'
  override readonly name = 'QuorumImpossibleError'
  /** The nodes that failed, and how. */
  readonly nodes: readonly NodeFailure[]

  constructor(
    message: string,
    parts: { retryable: boolean; outcome: 'not-done' | 'unknown'; nodes: readonly NodeFailure[] },
  ) {
    const { retryable, outcome, nodes } = parts
    super('QUORUM_IMPOSSIBLE', message, { retryable, outcome, details: { nodes } })
    this.nodes = nodes
  }
}

/**
 * Too few replicas had a grant in time (`acknowledge` of `redisStore`). An acquire is undone, in the background; an extension counts
 * for nothing with us, and may stand on the primary: `outcome` is `'unknown'` for both.
 */
export class NotAcknowledgedError extends HoldfastError {
  static override readonly code = 'NOT_ACKNOWLEDGED'
  override readonly name = 'NotAcknowledgedError'

  constructor(message: string, shortfall: Shortfall) {
    super('NOT_ACKNOWLEDGED', message, { retryable: true, outcome: 'unknown', details: { ...shortfall } })
  }
}

/** What a guard refused. */
export interface StaleFence {
  readonly resource: string
  /** The fence that was refused. */
  readonly fence: bigint
  /** The fence that the resource has accepted. */
  readonly accepted: bigint
}

/**
 * A resource refused a write: it has accepted a higher fence, so another holder was granted the lock since. Or it takes
 * each fence once, and has had this one. Nothing was written; whatever else the transaction did should be rolled back.
 */
export class StaleFenceError extends HoldfastError {
  static override readonly code = 'STALE_FENCE'
  override readonly name = 'StaleFenceError'
  /** The resource, as the caller named it. */
  readonly resource: string
  /** The fence that was refused. */
  readonly fence: bigint
  /** The fence that the resource has accepted; the same as `fence` where each is taken once. */
  readonly accepted: bigint

  constructor({ resource, fence, accepted }: StaleFence) {
    const why =
      accepted === fence
        ? 'it takes each fence once, and this one has written already'
        : `it has accepted ${accepted}, so another holder was granted the lock since`
    super(
      'STALE_FENCE',
      `${show(resource)} refuses the fence ${fence}: ${why}. Roll back, and take the lock anew.`,
      {
        retryable: false,
        outcome: 'not-done',
        details: { resource, fence: String(fence), accepted: String(accepted) },
      },
    )
    this.resource = resource
    this.fence = fence
    this.accepted = accepted
  }
}

/** Why a call that needs capacity did not get it. */
export type RateLimitedReason = 'denied' | 'timeout' | 'never' | 'queue-full'

/**
 * A limiter had no room: `waitFor`, `run` and a reservation reject with it, `take` never does. Nothing was counted for the
 * call. Not a failure of the store: that is a StoreUnavailableError or a StoreRefusedError.
 */
export class RateLimitedError extends HoldfastError {
  static override readonly code = 'RATE_LIMITED'
  override readonly name = 'RateLimitedError'
  /**
   * `'denied'`: the call did not wait. `'timeout'`: room comes only after its wait. `'never'`: the cost is above the capacity.
   * `'queue-full'`: too many calls wait for this subject already.
   */
  readonly reason: RateLimitedReason
  /** The last denial that was seen; `null` when the call never got to ask. */
  readonly decision: Decision | null
  /** Milliseconds after which the same cost passes, as far as that is known. */
  readonly retryAfter: number | null

  constructor(limiter: string, subject: string, reason: RateLimitedReason, decision: Decision | null) {
    const retryAfter = reason === 'never' ? null : (decision?.retryAfter ?? null)
    const policy = decision?.policy ?? null
    super('RATE_LIMITED', limitedMessage(`${show(limiter)} for ${show(subject)}`, reason, decision), {
      retryable: reason !== 'never',
      outcome: 'not-done',
      details: { limiter, subject, reason, policy, retryAfter },
    })
    this.reason = reason
    this.decision = decision
    this.retryAfter = retryAfter
  }
}

function limitedMessage(limit: string, reason: RateLimitedReason, decision: Decision | null): string {
  const what = `The limit ${limit}`
  if (reason === 'queue-full')
    return `${what} has as many waiting calls as maxWaiting allows. Come back later.`
  const by = decision === null ? '' : ` (policy ${show(decision.policy)})`
  if (reason === 'never') {
    const most = decision === null ? '' : ` of ${decision.limit}`
    return `${what} can never admit this cost: it is above the capacity${most}${by}. Ask for less at a time.`
  }
  const retryAfter = decision?.retryAfter ?? null
  const when = retryAfter === null ? '' : ` Room comes after ${retryAfter} ms.`
  return `${what} has no room${reason === 'timeout' ? ' within the wait' : ''}${by}.${when}`
}

/** Why a slot of a concurrency limit is lost. */
export type SlotLossReason = 'missing' | 'expired' | 'unreachable'

const SLOT_LOSS_MEANING: Record<SlotLossReason, string> = {
  missing: 'it is no longer on the store (reset, flushed or evicted)',
  expired: 'its lease was over before it could be renewed',
  unreachable: 'the store did not answer a renewal before its lease was over',
}

/** A slot of a concurrency limit is lost: another may work in its place. The reason of the slot's aborted signal. */
export class SlotLostError extends HoldfastError {
  static override readonly code = 'SLOT_LOST'
  override readonly name = 'SlotLostError'
  readonly reason: SlotLossReason

  constructor(limiter: string, subject: string, reason: SlotLossReason) {
    const slot = `The slot of ${show(limiter)} for ${show(subject)}`
    super('SLOT_LOST', `${slot} is lost: ${SLOT_LOSS_MEANING[reason]}.`, {
      retryable: true,
      outcome: 'not-done',
      details: { limiter, subject, reason },
    })
    this.reason = reason
  }
}

/** Which run an error about idempotency speaks of. */
export interface OnceKey {
  readonly idempotency: string
  readonly scope: string
  readonly key: string
}

/** The key's work is being run by another call. It did not run for this one. */
export class IdempotencyInProgressError extends HoldfastError {
  static override readonly code = 'IDEMPOTENCY_IN_PROGRESS'
  override readonly name = 'IdempotencyInProgressError'
  /** Milliseconds after which it is worth asking again; the other may take longer. */
  readonly retryAfter: number

  constructor(about: OnceKey, retryAfter: number) {
    const what = `${onceText(about)} is being run by another call`
    super(
      'IDEMPOTENCY_IN_PROGRESS',
      `${what}. Ask again after ${retryAfter} ms, or wait longer by \`wait\`.`,
      {
        retryable: true,
        outcome: 'not-done',
        details: { ...about, retryAfter },
      },
    )
    this.retryAfter = retryAfter
  }
}

/** The key was used before with another payload: its fingerprint is another one. The work did not run for this call. */
export class IdempotencyMismatchError extends HoldfastError {
  static override readonly code = 'IDEMPOTENCY_MISMATCH'
  override readonly name = 'IdempotencyMismatchError'

  constructor(about: OnceKey) {
    const problem = `${onceText(about)} was used before with another payload`
    super('IDEMPOTENCY_MISMATCH', `${problem}. Give another payload a key of its own.`, {
      retryable: false,
      outcome: 'not-done',
      details: { ...about },
    })
  }
}

/** Why nobody can say what a run came to, or why its outcome cannot be replayed. */
export type OutcomeUnknownReason =
  'abandoned' | 'taken' | 'missing' | 'expired' | 'unreachable' | 'too-large' | 'codec' | 'closed'

const UNKNOWN_MEANING: Record<OutcomeUnknownReason, string> = {
  abandoned: 'its runner died or was cut off, and what it did nobody knows. Find out, and decide by settle()',
  taken: 'the run lost its key, and another run or a settlement stands there',
  missing: 'the record of the run is no longer on the store (flushed or evicted)',
  expired: 'the lease of the run was over before it could be renewed',
  unreachable: 'the store did not answer in time; the outcome may not be stored',
  'too-large': 'the work was done, but its outcome is larger than maxBytes and cannot be replayed',
  codec: 'the work was done, but the codec (or isFinal) failed on its outcome, which cannot be replayed',
  closed: 'the Holdfast instance was closed while the work ran; the outcome is not stored',
}

/**
 * What a run came to is not known, or cannot be replayed. For a repeat: the work did not run again. For the run itself: the
 * work ended, see `work`, but its outcome is not what repeats will see. Also the reason of a run's aborted signal.
 */
export class OutcomeUnknownError extends HoldfastError {
  static override readonly code = 'OUTCOME_UNKNOWN'
  override readonly name = 'OutcomeUnknownError'
  /**
   * `'abandoned'`: the runner died. `'taken'`, `'missing'`, `'expired'`, `'unreachable'`: this run lost its key, or could not
   * store its outcome. `'too-large'`, `'codec'`: the outcome could not be stored or read. `'closed'`: by `hf.close()`.
   */
  readonly reason: OutcomeUnknownReason
  /** What the work returned or threw, when this call ran it. */
  readonly work: WorkOutcome | null

  constructor(
    about: OnceKey,
    reason: OutcomeUnknownReason,
    parts: { readonly work?: WorkOutcome | null; readonly cause?: unknown } = {},
  ) {
    const { work = null, cause } = parts
    const ended = work === null ? '' : ' Look at `work` for what the work returned or threw.'
    super('OUTCOME_UNKNOWN', `${onceText(about)}: ${UNKNOWN_MEANING[reason]}.${ended}`, {
      retryable: false,
      outcome: 'unknown',
      details: { ...about, reason },
      cause,
    })
    this.reason = reason
    this.work = work
  }
}

function onceText({ idempotency, scope, key }: OnceKey): string {
  return `The key ${show(key)} of ${show(idempotency)} in the scope ${show(scope)}`
}
