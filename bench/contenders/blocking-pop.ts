import type { Contender, ContenderKind } from './contender.ts'
import { connectIoredis, type Ioredis } from './packages.ts'

interface Turn {
  readonly client: Ioredis
  readonly key: string
}

/**
 * The reference of contended loads: a token in a list, popped to acquire and pushed to release. About the fastest that one
 * server can hand a thing over, and no lock: who dies with the token takes it along. Each waiter needs a connection.
 */
class BlockingPop implements Contender {
  readonly #idle: Ioredis[]
  readonly #all: readonly Ioredis[]

  constructor(clients: readonly Ioredis[]) {
    this.#all = clients
    this.#idle = [...clients]
  }

  async prepare(name: string): Promise<void> {
    const [client] = this.#all
    await client?.del(keyOf(name))
    await client?.lpush(keyOf(name), 'token')
  }

  async acquire(name: string): Promise<Turn> {
    const client = this.#idle.pop()
    if (client === undefined) throw new Error('more waiters than connections')
    const key = keyOf(name)
    if ((await client.blpop(key, 0)) === null) throw new Error('no token')
    return { client, key }
  }

  async release(held: unknown): Promise<void> {
    const { client, key } = held as Turn
    await client.lpush(key, 'token')
    this.#idle.push(client)
  }

  async close(): Promise<void> {
    for (const client of this.#all) client.disconnect()
  }
}

function keyOf(name: string): string {
  return `token:${name}`
}

export const blockingPop: ContenderKind = {
  role: 'floor',
  settings: 'BLPOP and LPUSH, a connection for each waiter; ioredis 5',
  async open({ url, waiters }) {
    return new BlockingPop(await Promise.all(Array.from({ length: waiters }, () => connectIoredis(url))))
  },
}
