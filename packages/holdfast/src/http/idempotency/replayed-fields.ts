import { InvalidArgumentError } from '../../errors.ts'

/** Which header fields of an answer are replayed. Names in lower case. */

/** They describe the answer itself. Others belong to one exchange, or are made anew by what stands before the handler. */
const REPLAYED = new Set([
  'allow',
  'cache-control',
  'deprecation',
  'etag',
  'expires',
  'last-modified',
  'link',
  'location',
  'preference-applied',
  'refresh',
  'retry-after',
  'sunset',
  'vary',
  'www-authenticate',
])

/** They belong to one connection or one message, and would be wrong in another. */
const NEVER = new Set([
  'connection',
  'content-length',
  'date',
  'idempotent-replayed',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Limits are those of the present request. */
const OF_LIMITS = /^(x-)?ratelimit(-|$)/

/**
 * Which fields are replayed: those that describe the answer, as `Location`, `ETag`, `Content-Type`, `Link`, and the named ones.
 *
 * @returns a function of a name in lower case
 * @throws InvalidArgumentError for a field that can never be replayed
 */
export function checkReplayed(extra: unknown): (name: string) => boolean {
  const named = new Set<string>()
  if (!Array.isArray(extra)) throw refused(extra, 'is no list of header fields')
  for (const name of extra as unknown[]) {
    if (typeof name !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      throw refused(name, 'is no name of a header field')
    if (isNever(name.toLowerCase())) throw refused(name, 'belongs to one message, and is never replayed')
    named.add(name.toLowerCase())
  }
  return (name) =>
    named.has(name) || REPLAYED.has(name) || (name.startsWith('content-') && name !== 'content-length')
}

function isNever(name: string): boolean {
  return NEVER.has(name) || OF_LIMITS.test(name)
}

function refused(value: unknown, problem: string): InvalidArgumentError {
  return new InvalidArgumentError('replayHeaders', value, {
    problem,
    remedy: "Give names of end-to-end fields, as ['X-Order-Id'].",
  })
}
