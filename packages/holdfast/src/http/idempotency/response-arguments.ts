import type { HeaderField } from '../ratelimit-fields.ts'

/** The many forms in which responses of Node are called. */

export type Callback = (error?: Error) => void

/** Of `write(chunk, encoding, callback)` and `end(…)`, each of which may be left out. */
export function endArguments(given: readonly unknown[]): {
  bytes: Uint8Array | null
  /** Whether something was given to be sent, be it bytes or not. */
  hasChunk: boolean
  callback: Callback | null
} {
  const callback = given.find((each) => typeof each === 'function') as Callback | undefined
  const [chunk, encoding] = given
  const hasChunk = chunk !== undefined && chunk !== null && typeof chunk !== 'function'
  return { bytes: bytesOf(chunk, encoding), hasChunk, callback: callback ?? null }
}

function bytesOf(chunk: unknown, encoding: unknown): Uint8Array | null {
  if (chunk instanceof Uint8Array) return chunk
  if (typeof chunk !== 'string') return null
  return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
}

/** Whether Node sends a head of this status and text; any other it refuses, by throwing. */
export function isHeadTaken({
  statusCode,
  statusMessage = '',
}: {
  readonly statusCode: number
  readonly statusMessage?: string | undefined
}): boolean {
  return statusCode >= 100 && statusCode < 1_000 && !/[^\t\x20-\x7e\x80-\xff]/.test(statusMessage)
}

/** Of `writeHead(status, reason, headers)`, where reason and headers may be left out. */
export function writeHeadArguments(given: readonly unknown[]): {
  status: number
  headers: readonly HeaderField[]
} {
  const [status, second, third] = given
  return { status: Number(status), headers: listedHeaders(typeof second === 'string' ? third : second) }
}

/** Headers as an object, as pairs, or as names and values in turn. */
function listedHeaders(headers: unknown): HeaderField[] {
  if (typeof headers !== 'object' || headers === null) return []
  if (!Array.isArray(headers)) return linesOf(Object.entries(headers))
  const list = headers as unknown[]
  if (list.every((each) => Array.isArray(each))) return linesOf(list as [string, unknown][])
  const pairs: [string, unknown][] = []
  for (let n = 0; n + 1 < list.length; n += 2) pairs.push([String(list[n]), list[n + 1]])
  return linesOf(pairs)
}

/** The headers of a response, one entry a line, names in lower case; `explicit` ones replace those that were set. */
export function headLines(
  set: Readonly<Record<string, unknown>>,
  explicit: readonly HeaderField[],
): HeaderField[] {
  const replaced = new Set(explicit.map(([name]) => name))
  return [...linesOf(Object.entries(set)).filter(([name]) => !replaced.has(name)), ...explicit]
}

function linesOf(entries: readonly (readonly [string, unknown])[]): HeaderField[] {
  return entries.flatMap(([name, value]) =>
    ([value].flat() as (string | number | undefined)[])
      .filter((each) => each !== undefined)
      .map((each): HeaderField => [name.toLowerCase(), String(each)]),
  )
}
