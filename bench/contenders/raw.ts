import { createHash, randomUUID } from 'node:crypto'
import type { Contender, ContenderKind } from './contender.ts'
import { connectIoredis, connectNodeRedis, type Ioredis, type NodeRedis } from './packages.ts'

/** The floor of uncontended loads: `SET NX PX`, and compare-and-delete by EVALSHA. No fence, no renewal, no waiting. */

export const COMPARE_AND_DELETE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`
const SHA1 = createHash('sha1').update(COMPARE_AND_DELETE).digest('hex')

export interface RawHold {
  readonly key: string
  readonly value: string
}

export class RawIoredis implements Contender {
  readonly #client: Ioredis
  readonly #ttl: number

  constructor(client: Ioredis, ttl: number) {
    this.#client = client
    this.#ttl = ttl
  }

  async acquire(name: string): Promise<RawHold> {
    const hold = { key: `raw:${name}`, value: randomUUID() }
    checkGranted(await this.#client.set(hold.key, hold.value, 'PX', this.#ttl, 'NX'), name)
    return hold
  }

  async release(held: unknown): Promise<void> {
    const { key, value } = held as RawHold
    checkReleased(await this.#client.evalsha(SHA1, 1, key, value), key)
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

class RawNodeRedis implements Contender {
  readonly #client: NodeRedis
  readonly #ttl: number

  constructor(client: NodeRedis, ttl: number) {
    this.#client = client
    this.#ttl = ttl
  }

  async acquire(name: string): Promise<RawHold> {
    const hold = { key: `raw:${name}`, value: randomUUID() }
    checkGranted(await this.#client.set(hold.key, hold.value, { PX: this.#ttl, NX: true }), name)
    return hold
  }

  async release(held: unknown): Promise<void> {
    const { key, value } = held as RawHold
    checkReleased(await this.#client.evalSha(SHA1, { keys: [key], arguments: [value] }), key)
  }

  async close(): Promise<void> {
    this.#client.destroy()
  }
}

function checkGranted(reply: string | null, name: string): void {
  if (reply !== 'OK') throw new Error(`${name} was not free`)
}

function checkReleased(reply: unknown, key: string): void {
  if (reply !== 1) throw new Error(`${key} was not ours any more`)
}

function rawOnIoredis(options: object, settings: string): ContenderKind {
  return {
    role: 'floor',
    settings,
    async open({ url, ttl }) {
      const client = await connectIoredis(url, options)
      await client.script('LOAD', COMPARE_AND_DELETE)
      return new RawIoredis(client, ttl)
    },
  }
}

export const raw = rawOnIoredis({}, 'ioredis 5, its defaults')
export const rawAutoPipelining = rawOnIoredis(
  { enableAutoPipelining: true },
  'ioredis 5, enableAutoPipelining',
)

export const rawOnNodeRedis: ContenderKind = {
  role: 'floor',
  settings: 'node-redis 6, its defaults',
  async open({ url, ttl }) {
    const client = await connectNodeRedis(url)
    await client.scriptLoad(COMPARE_AND_DELETE)
    return new RawNodeRedis(client, ttl)
  },
}
