import { bounds } from '../../defaults.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { HeadersLike } from '../request.ts'

/** The payload of a request, for its fingerprint. */

/** What is used of a request of Node to see whether its body was read. */
export interface BodyCarrier {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Whether somebody has begun to read it. */
  readonly readableDidRead?: boolean
  /** HTTP/2: `endAfterHeaders` where there is no body. */
  readonly stream?: { readonly endAfterHeaders?: boolean } | null
}

/** Stands for a body of a type that no parser took, as the client chose. */
export class UnreadBody {}

/**
 * The body as the framework has parsed it, or its raw bytes where it has those alone.
 *
 * @returns an UnreadBody where that is the client's doing
 * @param place where the middleware belongs, as `behind express.json()`
 * @throws InvalidArgumentError for a body that nobody has read, and for one that cannot be compared
 */
export function parsedBody(carrier: BodyCarrier, body: unknown, rawBody: unknown, place: string): unknown {
  if (!hasBody(carrier)) return undefined
  const type = [carrier.headers['content-type']].flat().join()
  refuseMultipart(type)
  if (carrier.readableDidRead === false && !isJson(type)) return new UnreadBody()
  if (carrier.readableDidRead === false)
    throw refused('cannot be made: the body of the request has not been read yet', `Put this ${place}, or`)
  const found = body === undefined ? rawBody : body
  if (found === undefined)
    throw refused('cannot be made: nobody has parsed the body of the request', `Put this ${place}, or`)
  if (isStream(found)) throw refused('cannot be made: the body of the request is a stream', '')
  return found
}

/**
 * What the bytes of a body stand for: JSON by its value, so that the order of members does not count, all else by its bytes.
 *
 * @throws InvalidArgumentError for a body that cannot be compared
 */
export function readBody(headers: HeadersLike, bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return undefined
  const type = headers.get('content-type') ?? ''
  refuseMultipart(type)
  if (!isJson(type)) return bytes
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8')) as unknown
  } catch {
    return bytes
  }
}

function isJson(type: string): boolean {
  return /^application\/(?:[^;\s]+\+)?json\b/i.test(type)
}

/** Whether a parsed body has what JSON text can say and canonical JSON cannot: numbers like 1e400, and endless nesting. */
export function isBeyondJson(value: unknown, depth = 0): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return false
  if (depth > bounds.maxFingerprintDepth) return true
  return Object.values(value).some((each) => isBeyondJson(each, depth + 1))
}

function hasBody({ headers, stream }: BodyCarrier): boolean {
  if (stream?.endAfterHeaders === true) return false
  const length = headers['content-length']
  if (length !== undefined) return Number(length) > 0
  return headers['transfer-encoding'] !== undefined || stream?.endAfterHeaders === false
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'pipe' in body
}

/** Every sender draws its boundary anew, and parsers put the files elsewhere. */
function refuseMultipart(type: string): void {
  if (/^multipart\//i.test(type)) throw refused('cannot be made of a multipart body', '')
}

function refused(problem: string, before: string): InvalidArgumentError {
  const remedy = 'give fingerprint: (request) => …, of what a repeat has in common with the first; or false.'
  return new InvalidArgumentError('fingerprint', undefined, {
    problem,
    remedy: before === '' ? `G${remedy.slice(1)}` : `${before} ${remedy}`,
  })
}
