import type { Held, Holdfast, LockOptions } from 'holdfast'
import { TTL_MS, type Contender, type ContenderKind, type OpenOptions } from './contender.ts'
import { connectIoredis, connectNodeRedis, loadHoldfast } from './packages.ts'

/** Milliseconds. Nobody shall give up in a crowd. */
const LONGEST_WAIT = 120_000

/** Ours, with every option at its default but the longest wait. A lock object is made for every cycle, as callers do. */
export class HoldfastContender implements Contender {
  readonly #hf: Holdfast
  readonly #disconnect: () => void
  readonly #options: LockOptions

  constructor(hf: Holdfast, ttl: number, disconnect: () => void) {
    this.#hf = hf
    this.#disconnect = disconnect
    this.#options = ttl === TTL_MS ? { wait: LONGEST_WAIT } : { wait: LONGEST_WAIT, ttl }
  }

  acquire(name: string): Promise<Held> {
    return this.#hf.lock(name, this.#options).acquire()
  }

  async release(held: unknown): Promise<void> {
    const outcome = await (held as Held).release()
    if (!outcome.released) throw new Error(`the lock was lost: ${outcome.reason}`)
  }

  countLost(held: readonly unknown[]): number {
    return held.filter((each) => (each as Held).lost !== null).length
  }

  async close(): Promise<void> {
    await this.#hf.close()
    this.#disconnect()
  }
}

export const settings = 'defaults; wait 2 min'

export const holdfast: ContenderKind = {
  role: 'ours',
  settings: `${settings}; ioredis 5`,
  async open({ url, ttl }: OpenOptions) {
    const { createHoldfast, redisStore } = await loadHoldfast()
    const client = await connectIoredis(url)
    const hf = createHoldfast({ store: redisStore(client) })
    return new HoldfastContender(hf, ttl, () => client.disconnect())
  },
}

/** A grant counts when both of two replicas have it. */
export const holdfastAcknowledged: ContenderKind = {
  role: 'ours',
  settings: `acknowledge: { replicas: 2, of: 2, within: '1s' }; ${settings}; ioredis 5`,
  async open({ url, ttl }: OpenOptions) {
    const { createHoldfast, redisStore } = await loadHoldfast()
    const client = await connectIoredis(url)
    const store = redisStore(client, { acknowledge: { replicas: 2, of: 2, within: '1s' } })
    return new HoldfastContender(createHoldfast({ store }), ttl, () => client.disconnect())
  },
}

export const holdfastOnNodeRedis: ContenderKind = {
  role: 'ours',
  settings: `${settings}; node-redis 6`,
  async open({ url, ttl }: OpenOptions) {
    const { createHoldfast, redisStore } = await loadHoldfast()
    const client = await connectNodeRedis(url)
    const hf = createHoldfast({ store: redisStore(client) })
    return new HoldfastContender(hf, ttl, () => client.destroy())
  },
}
