/**
 * Statuses that say "not now", or "not like this from you": the same request may have another answer a moment later. They are
 * taken to mean that nothing was done.
 */
const PASSING = new Set([401, 403, 407, 408, 409, 421, 423, 424, 425, 428, 429])

/** Whether an answer of this status is stored and replayed, unless the caller decides otherwise. */
export function isFinalStatus(status: number): boolean {
  return status < 500 && !PASSING.has(status)
}
