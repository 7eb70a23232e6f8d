import { parseDuration, type Duration } from '../duration.ts'
import type { AcquireOutcome, ReleaseOutcome } from './history-record.ts'
import type { ReleaseAnswer } from './history-shapes.ts'

const ANY_LENGTH = { min: 0, max: Number.MAX_SAFE_INTEGER }

/** Milliseconds of a duration, or `otherwise` when it was left out. */
export function toMilliseconds<T>(
  value: Duration | null | undefined,
  option: string,
  otherwise: T,
): number | T
export function toMilliseconds(
  value: Duration | null | undefined,
  option: string,
  otherwise: unknown,
): unknown {
  if (value === undefined) return otherwise
  return value === null ? null : parseDuration(value, option, ANY_LENGTH)
}

/** Reads how an acquire failed, from errors of ours and of others. */
export function acquireOutcome(error: unknown): AcquireOutcome {
  const { code, outcome } = partsOf(error)
  if (code === 'LOCK_TIMEOUT') return 'timeout'
  return outcome === 'unknown' ? 'unknown' : 'error'
}

/** Reads how a release failed. An error that does not say that nothing was done may have done it. */
export function failedRelease(error: unknown): ReleaseOutcome {
  return partsOf(error).outcome === 'not-done' ? 'error' : 'unknown'
}

/** Reads what a release answered. Who answers nothing claims no more than that it is free now. */
export function releaseOutcome(answer: ReleaseAnswer): { outcome: ReleaseOutcome; reason: string | null } {
  if (answer === true) return { outcome: 'released', reason: null }
  if (answer === false) return { outcome: 'not-held', reason: null }
  if (typeof answer !== 'object') return { outcome: 'unconfirmed', reason: null }
  if (!answer.released) return { outcome: 'not-held', reason: answer.reason ?? null }
  return { outcome: answer.confirmed === false ? 'unconfirmed' : 'released', reason: null }
}

/** A code where there is one, else the message. */
export function errorText(error: unknown): string {
  const { code } = partsOf(error)
  if (typeof code === 'string') return code
  return error instanceof Error ? error.message : String(error)
}

function partsOf(error: unknown): { code?: unknown; outcome?: unknown } {
  return typeof error === 'object' && error !== null ? error : {}
}
