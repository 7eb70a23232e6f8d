import { createHash } from 'node:crypto'
import { InvalidArgumentError } from './errors.ts'

/** Longest part of a name that is kept as it is, in bytes of its encoded form. */
const MAX_PART_BYTES = 512
/** What is kept of a longer part; its hash follows. */
const KEPT_BYTES = 448
/** How a shortened part ends: a base64url SHA-256. */
const SHORTENED_END = /~[A-Za-z0-9_-]{43}$/
const SHORTENED_END_BYTES = 44

/**
 * Braces and `|` have a meaning in our keys, `%` is the escape itself, and controls and white space make keys that nobody
 * can read or type.
 */
// eslint-disable-next-line no-control-regex
const UNSAFE = /[{}|%\u0000-\u001f\u007f-\u009f\s]/gu
const UNSAFE_ONCE = new RegExp(UNSAFE.source, 'u')

/** What to do about an empty part that is no lock's name. */
const EXAMPLES: Readonly<Record<string, string>> = {
  subject: "Give who or what is limited, as a user's id or an address.",
  scope: "Give whose key it is, as a user's or tenant's id.",
  key: 'Give the key that the caller sent for this one effect.',
}

/**
 * Encodes one part of a name for use in a key: unsafe characters as percent-encoded UTF-8, and a part of more than 512 bytes
 * as its first 448, a `~` and the base64url SHA-256 of the whole. Two parts never have one encoding: a short one that is
 * spelt like a shortened one is shortened too.
 *
 * @throws InvalidArgumentError when the part is not a string, is empty, or has a lone surrogate
 */
export function encodePart(part: unknown, option: string): string {
  if (typeof part !== 'string') {
    throw new InvalidArgumentError(option, part, {
      problem: 'is not a string',
      remedy: 'Give a name that is a string.',
    })
  }
  if (part === '') {
    throw new InvalidArgumentError(option, part, {
      problem: 'is empty',
      remedy: EXAMPLES[option] ?? "Give a name that says what is protected, as 'order:pay:123'.",
    })
  }
  if (!part.isWellFormed()) {
    throw new InvalidArgumentError(option, part, {
      problem: 'has half of a character (a lone surrogate)',
      remedy: 'Give well-formed Unicode.',
    })
  }
  const encoded = UNSAFE_ONCE.test(part) ? part.replace(UNSAFE, percentEncode) : part
  // A UTF-16 unit takes at most three bytes, so most names need no counting.
  if (encoded.length * 3 <= MAX_PART_BYTES) return encoded
  const bytes = Buffer.from(encoded, 'utf8')
  return bytes.length <= MAX_PART_BYTES && !looksShortened(encoded, bytes.length)
    ? encoded
    : shorten(bytes, part)
}

/** Without this, whoever knows a long name could choose a short one with the same key. */
function looksShortened(encoded: string, bytes: number): boolean {
  const kept = bytes - SHORTENED_END_BYTES
  return kept > KEPT_BYTES - 4 && kept <= KEPT_BYTES && SHORTENED_END.test(encoded)
}

function percentEncode(character: string): string {
  let text = ''
  for (const byte of Buffer.from(character, 'utf8'))
    text += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  return text
}

function shorten(encoded: Buffer, whole: string): string {
  let end = KEPT_BYTES
  // Cut neither through a UTF-8 character nor through an escape.
  while (((encoded[end] ?? 0) & 0xc0) === 0x80) end -= 1
  const escape = encoded.subarray(end - 2, end).indexOf(0x25)
  if (escape !== -1) end -= 2 - escape
  const hash = createHash('sha256').update(whole, 'utf8').digest('base64url')
  return `${encoded.subarray(0, end).toString('utf8')}~${hash}`
}

/**
 * Checks a key prefix.
 *
 * @throws InvalidArgumentError when it is empty, too long, or has braces, white space or controls
 */
export function checkPrefix(prefix: unknown, option: string): string {
  const usable =
    typeof prefix === 'string' &&
    prefix !== '' &&
    prefix.length <= 128 &&
    prefix.isWellFormed() &&
    !UNSAFE_ONCE.test(prefix)
  if (usable) return prefix
  throw new InvalidArgumentError(option, prefix, {
    problem: 'cannot be a prefix of keys',
    remedy: "Give 1 to 128 characters without braces, '|', '%', white space or controls, as 'shop:v1'.",
  })
}

/** Where a lock lies. The same text serves every store, so that a lock has one name wherever it is kept. */
export interface LockAddress {
  /** The name as the caller gave it. */
  readonly name: string
  readonly prefix: string
  /** The key that the caller chose for it; `null` when it has its key by its name. */
  readonly exactKey: string | null
  /** The key of the lock itself. */
  readonly key: string
  /** The key of those who wait for it. */
  readonly queueKey: string
  /** The key of the last fence. One per prefix on one server. */
  readonly fenceKey: string
}

/**
 * The addresses of a lock, one under each prefix. An exact key is the same under all of them, and its address is the last.
 *
 * @throws InvalidArgumentError when the exact key is one under which something else of ours lies
 */
export function lockAddresses(
  prefixes: readonly [string, ...string[]],
  name: string,
  exactKey?: string,
): readonly LockAddress[] {
  if (exactKey !== undefined) checkNotOurs(exactKey, prefixes)
  const [only, ...more] = prefixes
  if (more.length === 0) return [lockAddress(only, name, exactKey)]
  const used = exactKey === undefined ? prefixes : prefixes.slice(-1)
  return used.map((prefix) => lockAddress(prefix, name, exactKey))
}

/** What lies under a prefix beside locks: the last fence, the epoch, and all that belongs to a name. */
function checkNotOurs(exactKey: string, prefixes: readonly string[]): void {
  const isOurs = (prefix: string): boolean =>
    exactKey === `${prefix}:fence` ||
    exactKey === `${prefix}:epoch` ||
    (exactKey.startsWith(`${prefix}:{`) && !exactKey.endsWith('}:lock'))
  if (!prefixes.some(isOurs)) return
  throw new InvalidArgumentError('key', exactKey, {
    problem: 'is a key of our own, and not one of a lock',
    remedy: 'Give the exact key of the other software, or another prefix.',
  })
}

/** The address of a lock by name, or with `exactKey` at a key of the caller's choosing. */
export function lockAddress(prefix: string, name: string, exactKey?: string): LockAddress {
  const part = encodePart(name, 'name')
  // An exact key has its side keys apart, so that a lock of that very name does not share its queue.
  const side = exactKey === undefined ? `${prefix}:{${part}}` : `${prefix}:{${exactKey}}:exact`
  return {
    name,
    prefix,
    exactKey: exactKey ?? null,
    key: exactKey ?? `${side}:lock`,
    queueKey: `${side}:queue`,
    fenceKey: `${prefix}:fence`,
  }
}

/** Where the usage of one subject of a limiter lies. All its keys share one slot of a cluster. */
export interface LimitAddress {
  /** The limiter's name and the subject as the caller gave them. */
  readonly limiter: string
  readonly subject: string
  readonly prefix: string
  /** What all keys of the subject begin with: `PREFIX:{LIMITER|SUBJECT}:limit`. */
  readonly key: string
}

/** The address of a subject of a limiter. */
export function limitAddress(prefix: string, limiter: string, subject: string): LimitAddress {
  const key = `${prefix}:{${encodePart(limiter, 'name')}|${encodePart(subject, 'subject')}}:limit`
  return { limiter, subject, prefix, key }
}
