import { hostname } from 'node:os'
import { pid } from 'node:process'
import type { Randomness } from '../clock.ts'
import type { Holder } from './contract.ts'

/** Characters that name a process in an owner: 84 bits, so that two never meet. */
const PROCESS_CHARACTERS = 14
/** Characters that number the owners of a process: 48 bits, enough for nine years of a million a second. */
const COUNTER_CHARACTERS = 8
/** Characters of the unique id that an owner begins with. */
export const ID_CHARACTERS = PROCESS_CHARACTERS + COUNTER_CHARACTERS
/** The digits of ids. */
export const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** A name for a process: for one opening of a store. */
export function newProcessName(randomness: Randomness): string {
  return randomness.id(PROCESS_CHARACTERS)
}

/**
 * Makes the owners of one process: `<process><counter>@<host>:<pid>`, each once. That the process can be read from an owner
 * lets a forced release tell the holder, and lets a process know an abandoned lock of its own.
 */
export class OwnerMint {
  readonly #process: string
  readonly #tail = ownerTail()
  #count = 0
  /** All of an owner but its last digit and the tail, which change with every sixty-fourth. */
  #head = ''

  constructor(process: string) {
    this.#process = process
  }

  next(): string {
    const count = this.#count++
    const digit = count % 64
    if (digit === 0) this.#head = this.#process + digitsOf(Math.floor(count / 64), COUNTER_CHARACTERS - 1)
    return this.#head + ALPHABET.charAt(digit) + this.#tail
  }
}

/** How every owner of this process ends: `@<host>:<pid>`. */
export function ownerTail(): string {
  return `@${hostname().replace(/[^A-Za-z0-9._-]/g, '_')}:${pid}`
}

/** The unique id that an owner of this library's making begins with. */
export function idOf(owner: string): string {
  return owner.slice(0, ID_CHARACTERS)
}

function digitsOf(number: number, length: number): string {
  let digits = ''
  for (let rest = number, i = 0; i < length; i += 1) {
    digits = ALPHABET.charAt(rest % 64) + digits
    rest = Math.floor(rest / 64)
  }
  return digits
}

/** The process in an owner of this library's making; `null` for anything else. */
export function processOf(owner: string): string | null {
  return leaseIdOf(owner)?.slice(0, PROCESS_CHARACTERS) ?? null
}

/** The unique id in an owner of this library's making, which is also the id of the lease; `null` for anything else. */
export function leaseIdOf(owner: string): string | null {
  return owner.charAt(ID_CHARACTERS) === '@' ? owner.slice(0, ID_CHARACTERS) : null
}

/** What follows the fences in a lock's value. */
export function traceSuffix(trace: string | null): string {
  return trace === null ? '' : `;trace=${trace}`
}

/** Reads a lock's value. What another software wrote is its owner whole, and has no fence. */
export function holderOf(value: string, remaining: number | null): Holder {
  const match = /^([\w-]{22}@[^#]*)#(\d{1,16})(?:[+;].*)?$/s.exec(value)
  if (match === null) return { owner: value, fence: null, remaining }
  return { owner: match[1] as string, fence: BigInt(match[2] as string), remaining }
}
