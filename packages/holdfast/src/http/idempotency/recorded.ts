import type { HeaderField } from '../ratelimit-fields.ts'

/** An answer as a handler gave it, and as it is stored. */

/** The answer of a handler. */
export interface Recorded {
  readonly status: number
  /** Names in lower case; several lines of one name are several entries. */
  readonly headers: readonly HeaderField[]
  /** An error: it cannot be kept, and why; a `RangeError` where it is too large. */
  readonly body: Uint8Array | Error
}

/** What is sent: to be set on a response, which may have header fields of its own. */
export interface Reply {
  readonly status: number
  readonly headers: readonly HeaderField[]
  readonly body: Uint8Array | string
}

/** What the idempotency stores, as its codec and `inspect`'s readers see it. `settle` takes the same. */
export interface StoredAnswer {
  readonly status: number
  readonly headers: readonly HeaderField[]
  /** As text where it is UTF-8, else in Base64, and `encoding` says so. */
  readonly body: string
  readonly encoding?: 'base64'
}

export function storedAnswer(
  { status, headers }: Recorded,
  body: Uint8Array,
  isReplayed: (name: string) => boolean,
): StoredAnswer {
  const kept = headers.filter(([name]) => isReplayed(name))
  const text = utf8Of(body)
  if (text !== null) return { status, headers: kept, body: text }
  return { status, headers: kept, body: Buffer.from(body).toString('base64'), encoding: 'base64' }
}

/** The bytes again, exactly. `null` when what was stored is no answer: somebody settled the key by something else. */
export function replyOf(stored: unknown): Reply | null {
  if (!isStoredAnswer(stored)) return null
  const { status, headers, body, encoding } = stored
  return {
    status,
    headers: [...headers, ['Idempotent-Replayed', 'true']],
    body: Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8'),
  }
}

function isStoredAnswer(stored: unknown): stored is StoredAnswer {
  if (typeof stored !== 'object' || stored === null) return false
  const { status, headers, body } = stored as Partial<StoredAnswer>
  return isStatus(status) && Array.isArray(headers) && headers.every(isField) && typeof body === 'string'
}

function isStatus(status: unknown): boolean {
  return Number.isInteger(status) && (status as number) >= 200 && (status as number) < 1_000
}

function isField(field: unknown): boolean {
  return Array.isArray(field) && field.length === 2 && field.every((each) => typeof each === 'string')
}

/** `null` where the bytes are not the UTF-8 of any text. */
function utf8Of(bytes: Uint8Array): string | null {
  try {
    // A byte order mark is part of the body.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}
