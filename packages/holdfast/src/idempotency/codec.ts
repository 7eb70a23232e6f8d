import type { WorkOutcome } from '../errors.ts'
import type { OutcomeForm, StoredOutcome } from '../store/once/contract.ts'
import { keptError, restoredError } from './final-error.ts'

/**
 * Turns outcomes into what is stored, and back: to encrypt them, or to keep what JSON cannot. Both may be asynchronous. An
 * error of the work goes through it as a plain object with `name`, `message` and `properties`; `undefined` does not go through it.
 */
export interface OutcomeCodec {
  /** What is stored of a value: well-formed text, or bytes. What it throws is told, and the outcome is not stored. */
  encode(value: unknown): string | Uint8Array | PromiseLike<string | Uint8Array>
  /** The value again, from just what `encode` gave: text from text, bytes from bytes. */
  decode(stored: string | Uint8Array): unknown
}

/** The default: JSON. What comes back is what JSON makes of a value: a `Date` is text then. */
export const jsonCodec: OutcomeCodec = {
  encode: (value) => {
    const text = JSON.stringify(value) as string | undefined
    if (text === undefined) throw new TypeError(`JSON cannot hold a ${typeof value}`)
    return text
  },
  decode: (stored) => JSON.parse(stored as string) as unknown,
}

/** What could be made of an outcome to store it; always something that can be stored. */
export interface Encoded {
  readonly stored: StoredOutcome
  /** What went wrong, when the stored one only says that the true one could not be kept. */
  readonly failure: { readonly reason: 'too-large' | 'codec'; readonly cause: unknown } | null
}

/** Encodes what a work returned or threw; at once where the codec does. Never throws or rejects. */
export function encodeOutcome(
  codec: OutcomeCodec,
  maxBytes: number,
  work: WorkOutcome,
): Encoded | Promise<Encoded> {
  if ('value' in work && work.value === undefined)
    return { stored: { form: 'void', body: '' }, failure: null }
  const form = 'value' in work ? 'value' : 'error'
  try {
    const encoded = codec.encode('value' in work ? work.value : keptError(work.error))
    if (typeof encoded === 'string') return encodedAs(form, encoded, maxBytes)
    return Promise.resolve(encoded)
      .then((later) => encodedAs(form, later, maxBytes))
      .catch((error: unknown) => unstorable('codec', error))
  } catch (error) {
    return unstorable('codec', error)
  }
}

function encodedAs(form: 'value' | 'error', encoded: string | Uint8Array, maxBytes: number): Encoded {
  const stored = storable(form, encoded)
  const bytes = typeof encoded === 'string' ? Buffer.byteLength(encoded) : encoded.byteLength
  if (bytes <= maxBytes) return { stored, failure: null }
  return unstorable('too-large', new RangeError(`it has ${bytes} bytes, and maxBytes is ${maxBytes}`))
}

/** What is stored when the true outcome cannot be: repeats are told so, and the work does not run again. */
export function unstorable(reason: 'too-large' | 'codec', cause: unknown): Encoded {
  return { stored: { form: 'unstored', body: reason }, failure: { reason, cause } }
}

/** What a stored outcome stands for. Rejects with what the codec throws. Not for `unstored`. */
export async function decodeOutcome(
  codec: OutcomeCodec,
  { form, body }: StoredOutcome,
): Promise<WorkOutcome> {
  if (form === 'void') return { value: undefined }
  const isBytes = form === 'value-bytes' || form === 'error-bytes'
  const decoded = await codec.decode(isBytes ? new Uint8Array(Buffer.from(body, 'base64url')) : body)
  return form === 'value' || form === 'value-bytes' ? { value: decoded } : { error: restoredError(decoded) }
}

function storable(form: 'value' | 'error', encoded: unknown): StoredOutcome {
  if (typeof encoded === 'string') {
    if (encoded.isWellFormed()) return { form, body: encoded }
    throw new TypeError('the codec gave text with half of a character (a lone surrogate)')
  }
  if (!(encoded instanceof Uint8Array)) throw new TypeError('the codec gave neither text nor bytes')
  const bytesForm: OutcomeForm = `${form}-bytes`
  return { form: bytesForm, body: Buffer.from(encoded).toString('base64url') }
}
