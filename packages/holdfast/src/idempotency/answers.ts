import { bounds } from '../defaults.ts'
import {
  IdempotencyInProgressError,
  IdempotencyMismatchError,
  OutcomeUnknownError,
  type OnceKey,
  type OutcomeUnknownReason,
  type WorkOutcome,
} from '../errors.ts'
import type { StoredOutcome } from '../store/once/contract.ts'
import { differs } from '../store/once/record.ts'
import { decodeOutcome, type OutcomeCodec } from './codec.ts'

/** @throws IdempotencyMismatchError when both payloads are known and are different */
export function refuseOther(about: OnceKey, one: string | null, other: string | null): void {
  if (differs(one, other)) throw new IdempotencyMismatchError(about)
}

/** What a repeat is told while another call runs. `left`: milliseconds for which that one may go on. */
export function inProgress(about: OnceKey, left: number): IdempotencyInProgressError {
  const retryAfter = Math.max(1, Math.min(bounds.longestRetryAfter, Math.ceil(left)))
  return new IdempotencyInProgressError(about, retryAfter)
}

/**
 * What a stored outcome stands for.
 *
 * @throws OutcomeUnknownError when it could not be stored, or cannot be read
 */
export async function replayOf(
  about: OnceKey,
  codec: OutcomeCodec,
  stored: StoredOutcome,
): Promise<WorkOutcome> {
  if (stored.form === 'unstored') throw new OutcomeUnknownError(about, stored.body as OutcomeUnknownReason)
  try {
    return await decodeOutcome(codec, stored)
  } catch (cause) {
    throw new OutcomeUnknownError(about, 'codec', { cause })
  }
}
