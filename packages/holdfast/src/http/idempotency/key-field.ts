import { bounds } from '../../defaults.ts'
import type { HttpRequest } from '../request.ts'

/** The header field `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07): a String of RFC 9651, or a bare token. */

/** What a request says. `problem`: why it is no key, for the client. */
export type KeyField =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'bad'; readonly problem: string }

const NAME = 'idempotency-key'
/** A String, with any parameters, which no version of the draft gives a meaning. */
const QUOTED =
  /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"(?:;\x20*[a-z*][a-z0-9_.*-]*(?:=(?:"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"|[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+))?)*$/
/** What clients send who do not know of structured fields. A comma may be the seam of two lines. */
const BARE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/

/** Reads the key of a request. `"k"` and `k` are one. */
export function keyFieldOf({ headers, rawHeaders }: HttpRequest): KeyField {
  const value = headers.get(NAME)
  if (value === null) return { kind: 'missing' }
  // Joined lines can look like one: `"a` and `b"`.
  if (rawHeaders !== undefined && linesOf(rawHeaders) > 1) return bad('is given more than once')
  const text = value.trim()
  const key = QUOTED.exec(text)?.[1]?.replace(/\\(["\\])/g, '$1') ?? BARE.exec(text)?.[0]
  if (key === undefined) return bad('is neither a quoted string of printable ASCII nor a bare token')
  if (key === '') return bad('is empty')
  if (key.length > bounds.maxIdempotencyKey)
    return bad(`is longer than ${bounds.maxIdempotencyKey} characters`)
  return { kind: 'key', key }
}

function bad(problem: string): KeyField {
  return { kind: 'bad', problem }
}

/** @param raw names and values in turn, as node:http has them */
function linesOf(raw: readonly string[]): number {
  let lines = 0
  for (let n = 0; n < raw.length; n += 2) if (raw[n]?.toLowerCase() === NAME) lines += 1
  return lines
}
