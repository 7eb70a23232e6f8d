import { hostname } from 'node:os'
import { pid } from 'node:process'
import type { Randomness } from '../clock.ts'
import type { Holder } from './contract.ts'

/** Characters that name a process in an owner: 84 bits, so that two never meet. */
const PROCESS_CHARACTERS = 14
/** Characters that number the owners of a process: 48 bits, enough for nine years of a million a second. */
const COUNTER_CHARACTERS = 8
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

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
  readonly #tail: string
  #count = 0

  constructor(process: string) {
    this.#process = process
    this.#tail = `@${hostname().replace(/[^A-Za-z0-9._-]/g, '_')}:${pid}`
  }

  next(): string {
    let counter = ''
    for (let rest = this.#count++, i = 0; i < COUNTER_CHARACTERS; i += 1) {
      counter = ALPHABET.charAt(rest % 64) + counter
      rest = Math.floor(rest / 64)
    }
    return `${this.#process}${counter}${this.#tail}`
  }
}

/** The process in an owner of this library's making; `null` for anything else. */
export function processOf(owner: string): string | null {
  return leaseIdOf(owner)?.slice(0, PROCESS_CHARACTERS) ?? null
}

/** The unique id in an owner of this library's making, which is also the id of the lease; `null` for anything else. */
export function leaseIdOf(owner: string): string | null {
  const at = PROCESS_CHARACTERS + COUNTER_CHARACTERS
  return owner.charAt(at) === '@' ? owner.slice(0, at) : null
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
