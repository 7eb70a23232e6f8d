/**
 * Locks as one finds them, each broken in the way its name says, over a bare connection to a Redis server. The checker has
 * to find out, from what their holders see.
 */

import { randomUUID } from 'node:crypto'
import type { HeldLike, LockLike } from 'holdfast/testing'
import type { RespConnection } from '../resp/connection.ts'

export const naiveKinds = [
  'setnx-expire',
  'bare-del',
  'get-then-del',
  'incr-fence',
  'renewal-by-set',
] as const
export type NaiveKind = (typeof naiveKinds)[number]

/** Deletes a key if it has that value: what a right release does. */
const COMPARE_AND_DELETE = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"

export interface NaiveOptions {
  readonly key: string
  readonly ttl: number
}

/** A lock of one kind. It never waits: `acquire` fails when it is busy. */
export function naiveLock(kind: NaiveKind, connection: RespConnection, options: NaiveOptions): LockLike {
  const tryAcquire = async (): Promise<HeldLike | null> => {
    const owner = randomUUID()
    if (!(await take(kind, connection, { ...options, owner }))) return null
    return new NaiveHold(kind, connection, { ...options, owner }).begin()
  }
  return {
    tryAcquire,
    async acquire() {
      const held = await tryAcquire()
      if (held === null) throw new Error('busy')
      return held
    },
  }
}

interface Parts extends NaiveOptions {
  readonly owner: string
}

async function take(
  kind: NaiveKind,
  connection: RespConnection,
  { key, ttl, owner }: Parts,
): Promise<boolean> {
  if (kind !== 'setnx-expire') return (await connection.call('SET', key, owner, 'NX', 'PX', ttl)) === 'OK'
  // In between lies an eternity.
  if ((await connection.call('SETNX', key, owner)) !== 1) return false
  await connection.call('PEXPIRE', key, ttl)
  return true
}

class NaiveHold implements HeldLike {
  readonly owner: string
  fence: bigint | null = null
  readonly #kind: NaiveKind
  readonly #connection: RespConnection
  readonly #parts: Parts
  #deadline: number
  #renewing: NodeJS.Timeout | undefined

  constructor(kind: NaiveKind, connection: RespConnection, parts: Parts) {
    this.owner = parts.owner
    this.#kind = kind
    this.#connection = connection
    this.#parts = parts
    this.#deadline = performance.now() + parts.ttl
  }

  async begin(): Promise<this> {
    const { key, ttl } = this.#parts
    if (this.#kind === 'incr-fence') {
      this.fence = BigInt((await this.#connection.call('INCR', `${key}:fence`)) as number)
    }
    if (this.#kind === 'renewal-by-set') {
      this.#renewing = setInterval(() => void this.#renew(), ttl / 3)
    }
    return this
  }

  remaining(): number {
    return Math.max(0, this.#deadline - performance.now())
  }

  async release(): Promise<boolean> {
    clearInterval(this.#renewing)
    const { key, owner } = this.#parts
    const send = (...command: (string | number)[]) => this.#connection.call(...command)
    if (this.#kind === 'bare-del') return (await send('DEL', key)) === 1
    if (this.#kind === 'get-then-del')
      return (await send('GET', key)) === owner && (await send('DEL', key)) === 1
    return (await send('EVAL', COMPARE_AND_DELETE, 1, key, owner)) === 1
  }

  async #renew(): Promise<void> {
    const { key, ttl, owner } = this.#parts
    const sent = performance.now()
    await this.#connection.call('SET', key, owner, 'PX', ttl)
    this.#deadline = sent + ttl
  }
}
