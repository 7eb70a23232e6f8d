import type { Contender, ContenderKind, OpenOptions } from './contender.ts'
import { HoldfastContender, settings as ours } from './holdfast.ts'
import { connectIoredis, load, loadHoldfast, type Ioredis } from './packages.ts'
import { COMPARE_AND_DELETE, RawIoredis, type RawHold } from './raw.ts'
import { Redlock5Contender, type Class, type Redlock5 } from './redlock.ts'
import { RedisSemaphore, type MutexClass } from './redis-semaphore.ts'

/** Locks over several independent servers; their addresses come as one text, with a space between them. */

const connectAll = (urls: string): Promise<Ioredis[]> =>
  Promise.all(urls.split(' ').map((url) => connectIoredis(url)))

const disconnectAll = (clients: readonly Ioredis[]): void => {
  for (const client of clients) client.disconnect()
}

function ourQuorum(fence: boolean): ContenderKind {
  return {
    role: 'ours',
    settings: `${fence ? 'fence: true' : 'defaults'}; ${ours}`,
    async open({ url, ttl }: OpenOptions) {
      const { createHoldfast, redisStore, quorumStore } = await loadHoldfast()
      const clients = await connectAll(url)
      const store = quorumStore(
        clients.map((client) => redisStore(client)),
        { fence },
      )
      return new HoldfastContender(createHoldfast({ store }), ttl, () => disconnectAll(clients))
    },
  }
}

export const holdfastQuorum = ourQuorum(false)
export const holdfastQuorumWithFences = ourQuorum(true)

/** The floor: the same two commands as on one server, to all of them at once, and all answers awaited. */
class Pairs implements Contender {
  readonly #clients: readonly Ioredis[]
  readonly #each: readonly RawIoredis[]

  constructor(clients: readonly Ioredis[], ttl: number) {
    this.#clients = clients
    this.#each = clients.map((client) => new RawIoredis(client, ttl))
  }

  acquire(name: string): Promise<RawHold[]> {
    return Promise.all(this.#each.map((one) => one.acquire(name)))
  }

  async release(held: unknown): Promise<void> {
    await Promise.all(this.#each.map((one, i) => one.release((held as RawHold[])[i])))
  }

  async close(): Promise<void> {
    disconnectAll(this.#clients)
  }
}

export const pairs: ContenderKind = {
  role: 'floor',
  settings: 'ioredis 5, its defaults',
  async open({ url, ttl }) {
    const clients = await connectAll(url)
    await Promise.all(clients.map((client) => client.script('LOAD', COMPARE_AND_DELETE)))
    return new Pairs(clients, ttl)
  },
}

export const redlock5Quorum: ContenderKind = {
  role: 'peer',
  settings: 'ioredis 5',
  async open({ url, ttl }) {
    const { default: Redlock } = await load<{ default: Class<Redlock5> }>('redlock5')
    const clients = await connectAll(url)
    return new Redlock5Contender(new Redlock(clients, {}), { disconnect: () => disconnectAll(clients) }, ttl)
  },
}

export const redlockMutex: ContenderKind = {
  role: 'peer',
  settings: 'ioredis 5',
  async open({ url, ttl }) {
    const { RedlockMutex } = await load<{ RedlockMutex: MutexClass<readonly Ioredis[]> }>('redis-semaphore')
    const clients = await connectAll(url)
    const options = { lockTimeout: ttl, acquireTimeout: 120_000, retryInterval: 10 }
    return new RedisSemaphore(RedlockMutex, clients, options, () => disconnectAll(clients))
  },
}
