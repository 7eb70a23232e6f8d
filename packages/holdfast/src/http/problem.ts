import type { Decision } from '../limit/decision.ts'
import { retryAfterSeconds, violatedPolicies } from './ratelimit-fields.ts'
import { printable } from './structured-fields.ts'

/**
 * Bodies of refusals: problem documents (RFC 9457) of the types that draft-ietf-httpapi-ratelimit-headers-10 registers
 * (section 5). They hold nothing of the request, and no message of the store.
 */

/** The media type of the bodies. */
export const PROBLEM_JSON = 'application/problem+json'

const TYPES = 'https://iana.org/assignments/http-problem-types'

/** The body of a 429. */
export function quotaExceeded(decision: Decision): string {
  if (decision.source === 'unavailable') return reducedCapacity(429)
  const wait = retryAfterSeconds(decision)
  return JSON.stringify({
    type: `${TYPES}#quota-exceeded`,
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail:
      wait === null
        ? 'The request costs more than is ever allowed at once: waiting does not help.'
        : `The same request may pass after ${wait} s.`,
    // Spelt as in the header fields, so that they can be found there.
    'violated-policies': violatedPolicies(decision).map(printable),
  })
}

/** The body where it is unknown whether a quota is exceeded, since the store of the limits is down. */
export function reducedCapacity(status: 429 | 503): string {
  return JSON.stringify({
    type: `${TYPES}#temporary-reduced-capacity`,
    title: 'Request cannot be satisfied due to temporary server capacity constraints',
    status,
    detail: 'The limits cannot be checked at present. The request was not carried out.',
    'violated-policies': [],
  })
}
