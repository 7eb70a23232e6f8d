/** Why a held lock is lost. */
export type LossReason = 'expired' | 'taken' | 'missing' | 'unreachable' | 'max-hold' | 'forced'

/** The code of every error of this library: the class's name without `Error`, in capitals. */
export type ErrorCode =
  'INVALID_ARGUMENT' | 'LOCK_TIMEOUT' | 'LOCK_LOST' | 'CLOSED' | 'STORE_UNAVAILABLE' | 'STORE_REFUSED'

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

/** Writes a value for an error message: short, on one line, never throwing. */
export function show(value: unknown): string {
  let text: string
  try {
    if (typeof value === 'string') text = JSON.stringify(value)
    else if (typeof value === 'bigint') text = `${value}n`
    else if (typeof value === 'function') text = `function ${value.name}`
    else if (typeof value === 'object' && value !== null)
      text = JSON.stringify(value) ?? Object.prototype.toString.call(value)
    else text = String(value)
  } catch {
    text = Object.prototype.toString.call(value)
  }
  return text.length > 120 ? `${text.slice(0, 117)}…` : text
}
