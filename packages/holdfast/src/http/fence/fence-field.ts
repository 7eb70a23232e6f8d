import { readFence, type FenceSource } from '../../fence/fence-source.ts'
import type { HttpRequest } from '../request.ts'

/** The header that carries a fence: its digits, and nothing else. */
export const FENCE_FIELD = 'Fencing-Token'
/** The header that carries the name of its lock, percent-encoded. */
export const LOCK_FIELD = 'Fencing-Lock'

/**
 * The headers by which a holder shows its fence to a service: `Fencing-Token`, and with a held lock `Fencing-Lock`.
 *
 * @throws InvalidArgumentError for what is no fence, or a hold that cannot promise order
 */
export function fenceHeaders(fence: FenceSource): Record<string, string> {
  const { value, lock } = readFence(fence)
  const headers = { [FENCE_FIELD]: String(value) }
  return lock === null ? headers : { ...headers, [LOCK_FIELD]: encodeURIComponent(lock) }
}

/** What a request says about its fence. */
export type ReadField =
  | { readonly kind: 'fence'; readonly fence: bigint; readonly lock: string | null }
  | { readonly kind: 'missing' }
  | { readonly kind: 'malformed'; readonly field: string }

const MAX = 2n ** 63n - 1n

/** Reads the headers. Two lines of one header come joined by a comma, and are malformed like everything else that is no fence. */
export function readFields({ headers }: HttpRequest): ReadField {
  const digits = headers.get(FENCE_FIELD.toLowerCase())?.trim()
  if (digits === undefined || digits === '') return { kind: 'missing' }
  if (!/^[1-9]\d{0,18}$/.test(digits) || BigInt(digits) > MAX)
    return { kind: 'malformed', field: FENCE_FIELD }
  const encoded = headers.get(LOCK_FIELD.toLowerCase())?.trim()
  const lock = encoded === undefined || encoded === '' ? null : decoded(encoded)
  if (lock === undefined) return { kind: 'malformed', field: LOCK_FIELD }
  return { kind: 'fence', fence: BigInt(digits), lock }
}

function decoded(encoded: string): string | undefined {
  if (encoded.length > 2_048 || !/^[\x21-\x2b\x2d-\x7e]+$/.test(encoded)) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}
