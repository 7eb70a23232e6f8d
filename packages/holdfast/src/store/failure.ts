import {
  InvalidArgumentError,
  NotAcknowledgedError,
  QuorumImpossibleError,
  StoreRefusedError,
  StoreUnavailableError,
  type NodeFailure,
} from '../errors.ts'
import type { Shortfall } from './shortfall.ts'

const BRAND = Symbol.for('holdfast.store-failure')

/**
 * How one try failed. Stores throw it; the operation above turns it into a public error. `instanceof` works by brand: the store may
 * come from the CommonJS copy of the library, and the operation from the ES module copy.
 */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure'
  /** `refused`: the store said no and did nothing. `unreachable`: no answer, or none that tells. */
  readonly kind: 'refused' | 'unreachable'
  readonly outcome: 'not-done' | 'unknown'
  /** Whether asking again cannot help. */
  readonly final: boolean
  /** Whether asking again cannot help within this operation: the store has done what can be done by now. */
  readonly exhausted: boolean
  /** How the nodes failed, when a quorum was asked. */
  readonly nodes: readonly NodeFailure[] | null
  /** What was missing, when too few replicas had a grant. */
  readonly shortfall: Shortfall | null
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
      exhausted?: boolean
      nodes?: readonly NodeFailure[]
      shortfall?: Shortfall
    },
  ) {
    super(message, { cause: parts.cause })
    this.kind = parts.kind
    this.outcome = parts.outcome
    this.final = parts.final
    this.reason = parts.reason
    this.remedy = parts.remedy ?? ''
    this.exhausted = parts.exhausted ?? false
    this.nodes = parts.nodes ?? null
    this.shortfall = parts.shortfall ?? null
    Object.defineProperty(this, BRAND, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value
  }
}

/** A store that throws something else has a fault of its own; what it did is unknown. */
export function asStoreFailure(error: unknown): StoreFailure {
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

/** What a caller is told when an operation as a whole failed. */
export type OperationError =
  | StoreRefusedError
  | StoreUnavailableError
  | QuorumImpossibleError
  | NotAcknowledgedError
  | InvalidArgumentError

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
  if (failure.nodes !== null)
    return new QuorumImpossibleError(message, { outcome, retryable: !failure.final, nodes: failure.nodes })
  if (failure.shortfall !== null)
    return new NotAcknowledgedError(`${operation} failed: ${failure.message}.${remedy}`, failure.shortfall)
  if (failure.kind === 'unreachable') return new StoreUnavailableError(message, outcome, cause)
  return new StoreRefusedError(message, { retryable: !failure.final, outcome, reason: failure.reason, cause })
}
