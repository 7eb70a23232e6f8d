import { InvalidArgumentError, StoreRefusedError, StoreUnavailableError } from '../errors.ts'

/** How one try failed. Stores throw it; the operation above turns it into a public error. */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure'
  /** `refused`: the store said no and did nothing. `unreachable`: no answer, or none that tells. */
  readonly kind: 'refused' | 'unreachable'
  readonly outcome: 'not-done' | 'unknown'
  /** Whether asking again cannot help. */
  readonly final: boolean
  /** The server's own code (`READONLY`) or a word of ours (`connection`). */
  readonly reason: string
  /** What to do about it; a sentence, or empty. */
  readonly remedy: string

  constructor(
    message: string,
    parts: {
      kind: 'refused' | 'unreachable'
      outcome: 'not-done' | 'unknown'
      final: boolean
      reason: string
      remedy?: string
      cause?: unknown
    },
  ) {
    super(message, { cause: parts.cause })
    this.kind = parts.kind
    this.outcome = parts.outcome
    this.final = parts.final
    this.reason = parts.reason
    this.remedy = parts.remedy ?? ''
  }
}

/** What a caller is told when an operation as a whole failed. */
export type OperationError = StoreRefusedError | StoreUnavailableError | InvalidArgumentError

/**
 * The public error for an operation that ended without being done.
 *
 * @param operation what was tried, as `Releasing the lock "order:1"`
 */
export function publicError(
  { kind, failure }: { readonly kind: 'refused' | 'unknown'; readonly failure: StoreFailure },
  operation: string,
): OperationError {
  // A closed client or the like is the caller's mistake, found by the store before anything was sent.
  if (failure.cause instanceof InvalidArgumentError) return failure.cause
  const outcome = kind === 'unknown' ? 'unknown' : 'not-done'
  const remedy = failure.remedy === '' ? '' : ` ${failure.remedy}`
  const doubt = outcome === 'unknown' ? ' It may have been done all the same.' : ''
  const message = `${operation} failed: ${failure.message}.${doubt}${remedy}`
  const cause = failure.cause ?? failure
  if (failure.kind === 'unreachable') return new StoreUnavailableError(message, outcome, cause)
  return new StoreRefusedError(message, { retryable: !failure.final, outcome, reason: failure.reason, cause })
}
