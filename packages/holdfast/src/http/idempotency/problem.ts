import { PROBLEM_JSON } from '../problem.ts'
import type { HeaderField } from '../ratelimit-fields.ts'
import type { Reply } from './recorded.ts'

/**
 * Answers of requests whose handler did not run: problem documents (RFC 9457), with the statuses of
 * draft-ietf-httpapi-idempotency-key-header-07 (section 2.7). They hold nothing of the request, and no message of the store.
 */

function problem(
  status: number,
  type: string,
  title: string,
  detail: string,
  headers: readonly HeaderField[] = [],
): Reply {
  return {
    status,
    headers: [...headers, ['Content-Type', PROBLEM_JSON]],
    body: JSON.stringify({ type: `urn:holdfast:problem:${type}`, title, status, detail }),
  }
}

export function keyMissing(): Reply {
  return problem(
    400,
    'idempotency-key-missing',
    'Idempotency-Key is missing',
    'Give a key of your own making in the header Idempotency-Key, and the same one when you repeat the request.',
  )
}

/** @param fault what is wrong, as `is empty` */
export function keyMalformed(fault: string): Reply {
  return problem(
    400,
    'idempotency-key-malformed',
    'Idempotency-Key cannot be read',
    `The header Idempotency-Key ${fault}. Give one quoted string, as "8e03978e-40d5-43dd-bc93-6894a57f9324".`,
  )
}

export function bodyNotComparable(): Reply {
  return problem(
    400,
    'body-not-comparable',
    'The body cannot be compared with that of a repeat',
    'It is nested too deep, or has a number that is too large. Nothing was carried out.',
  )
}

export function bodyUnread(): Reply {
  return problem(
    415,
    'body-unread',
    'Bodies of this type are not read here',
    'The body cannot be compared with that of a repeat. Nothing was carried out; give a body of another Content-Type.',
  )
}

/** @param retryAfterMs milliseconds */
export function inProgress(retryAfterMs: number): Reply {
  return problem(
    409,
    'in-progress',
    'A request with this Idempotency-Key is being carried out',
    'Repeat the request later, with the same key, to get its answer.',
    [['Retry-After', String(Math.max(1, Math.ceil(retryAfterMs / 1_000)))]],
  )
}

export function outcomeUnknown(): Reply {
  return problem(
    409,
    'outcome-unknown',
    'The answer of the first request with this Idempotency-Key is not known',
    'The first request was begun and may have been carried out. Repeating it with this key does not help: look up what it came to.',
  )
}

export function keyReused(): Reply {
  return problem(
    422,
    'idempotency-key-reused',
    'Idempotency-Key was used for another request',
    'The key was used before with another query or body. Give a new key for a new request.',
  )
}

/** @param seconds a store is mostly back within seconds */
export function storeDown(seconds: number): Reply {
  return problem(
    503,
    'unavailable',
    'Idempotency-Key cannot be checked at present',
    'The request was not carried out. Repeat it later, with the same key.',
    [['Retry-After', String(seconds)]],
  )
}
