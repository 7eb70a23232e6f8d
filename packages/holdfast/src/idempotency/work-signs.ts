/**
 * What works of this library's own make tell by what they return or throw, beside outcomes. Brands, so that the copies for
 * ES modules and CommonJS understand each other.
 */

const UNKEPT = Symbol.for('holdfast.once.unkept')
const GIVEN_UP = Symbol.for('holdfast.once.given-up')

/** Returned by a work that ended and whose outcome cannot be kept: final, and repeats are told that it is unknown. */
export interface Unkept {
  readonly [UNKEPT]: 'too-large' | 'codec'
  readonly cause: unknown
}

export function unkept(reason: 'too-large' | 'codec', cause: unknown): Unkept {
  return { [UNKEPT]: reason, cause }
}

/** Why the outcome cannot be kept; `null` for everything else that a work returns. */
export function unkeptReason(value: unknown): 'too-large' | 'codec' | null {
  return typeof value === 'object' && value !== null && UNKEPT in value ? (value as Unkept)[UNKEPT] : null
}

/**
 * Thrown by a work of which nobody will learn how it ended: its key is left to the end of its lease, as if the process had died,
 * and then `onAbandoned` decides.
 */
export class GivenUpError extends Error {
  override readonly name = 'GivenUpError'
  readonly [GIVEN_UP] = true
}

export function isGivenUp(error: unknown): boolean {
  return typeof error === 'object' && error !== null && GIVEN_UP in error
}
