import { createHash } from 'node:crypto'
import { bounds } from '../defaults.ts'
import { InvalidArgumentError } from '../errors.ts'

/**
 * The fingerprint of a payload: SHA-256 in base64url. Bytes count as they are; anything else as canonical JSON: the members of
 * objects in the order of their names, numbers as JSON writes them (RFC 8785). So `{ a, b }` and `{ b, a }` are one payload,
 * and so are `1` and `1.0`. As in JSON, members that are `undefined` do not count, and `toJSON` is obeyed.
 *
 * @throws InvalidArgumentError, with the path, for what has no such form: cycles, BigInt, functions, symbols, NaN, Map, Set, and other
 *   things whose contents JSON does not see, as a Promise, FormData, URLSearchParams or Blob
 */
export function fingerprintOf(payload: unknown): string {
  const bytes = bytesOf(payload)
  const hash = createHash('sha256')
  if (bytes === null) hash.update('json:').update(new Canonical().text(payload, 'fingerprint'))
  else hash.update('bytes:').update(bytes)
  return hash.digest('base64url')
}

function bytesOf(value: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return value instanceof ArrayBuffer ? new Uint8Array(value) : null
}

/** Writes one payload, and knows what it is inside of. */
class Canonical {
  readonly #around = new Set<object>()

  text(value: unknown, path: string): string {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return JSON.stringify(value)
      case 'number':
        if (Number.isFinite(value)) return JSON.stringify(value)
        throw refused(path, String(value), 'is no number that JSON has')
      case 'object':
        return value === null ? 'null' : this.#object(value, path)
      case 'undefined':
        return 'null'
      case 'bigint':
      case 'function':
      case 'symbol':
        throw refused(path, value, `is a ${typeof value}`)
    }
  }

  #object(value: object, path: string): string {
    if (this.#around.has(value)) throw refused(path, '[…]', 'contains itself')
    if (this.#around.size >= bounds.maxFingerprintDepth) throw refused(path, '[…]', 'is nested too deep')
    const bytes = bytesOf(value)
    // No JSON begins like this.
    if (bytes !== null) return `bytes"${Buffer.from(bytes).toString('base64')}"`
    if (value instanceof Map || value instanceof Set)
      throw refused(path, value, `is a ${value.constructor.name}, whose entries JSON does not hold`)
    refuseHidden(value, path)
    this.#around.add(value)
    try {
      return this.#members(value, path)
    } finally {
      this.#around.delete(value)
    }
  }

  #members(value: object, path: string): string {
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON === 'function') return this.text(toJSON.call(value, ''), `${path}.toJSON()`)
    if (Array.isArray(value)) {
      return `[${value.map((each: unknown, i) => this.text(each, `${path}[${i}]`)).join(',')}]`
    }
    const members: string[] = []
    for (const name of Object.keys(value).sort()) {
      const member = (value as Record<string, unknown>)[name]
      if (member !== undefined)
        members.push(`${JSON.stringify(name)}:${this.text(member, `${path}.${name}`)}`)
    }
    return `{${members.join(',')}}`
  }
}

/** Those whose members are all there is to them. */
const OPEN_TAGS = new Set(['Object', 'Array', 'Arguments'])

/** Of many things of the language and of the web JSON makes `{}`, whatever is in them: all payloads would be one. */
function refuseHidden(value: object, path: string): void {
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  if (OPEN_TAGS.has(tag) || 'toJSON' in value || Object.keys(value).length > 0) return
  throw refused(path, value, `is a ${tag}, whose contents JSON does not hold`)
}

function refused(path: string, value: unknown, problem: string): InvalidArgumentError {
  return new InvalidArgumentError(shortened(path), value, {
    problem: `${problem}, and so has no fingerprint`,
    remedy: 'Give what JSON can hold, or the bytes of the payload (a Buffer or Uint8Array).',
  })
}

/** A path as deep as a body of somebody else is long would fill every log. */
function shortened(path: string): string {
  return path.length <= 200 ? path : `${path.slice(0, 120)}…${path.slice(-60)}`
}
