import type { Contender, ContenderKind, OpenOptions } from './contender.ts'
import { connectIoredis, load, type Ioredis } from './packages.ts'

/** Redlock on its one server, in its three shapes. They poll: no limit of tries, and a short pause with jitter. */

const retries = { retryCount: -1, retryDelay: 10, retryJitter: 5 }
const settings = 'retryCount -1, retryDelay 10 ms, retryJitter 5 ms; ioredis 5'

interface Redlock4 {
  lock(resource: string, ttl: number): Promise<{ unlock(): Promise<unknown> }>
}

export interface Redlock5 {
  acquire(resources: string[], ttl: number): Promise<{ release(): Promise<unknown> }>
}

class Redlock4Contender implements Contender {
  readonly #redlock: Redlock4
  readonly #client: Ioredis
  readonly #ttl: number

  constructor(redlock: Redlock4, client: Ioredis, ttl: number) {
    this.#redlock = redlock
    this.#client = client
    this.#ttl = ttl
  }

  acquire(name: string): Promise<unknown> {
    return this.#redlock.lock(name, this.#ttl)
  }

  release(held: unknown): Promise<unknown> {
    return (held as { unlock(): Promise<unknown> }).unlock()
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

export class Redlock5Contender implements Contender {
  readonly #redlock: Redlock5
  readonly #client: Pick<Ioredis, 'disconnect'>
  readonly #ttl: number

  constructor(redlock: Redlock5, client: Pick<Ioredis, 'disconnect'>, ttl: number) {
    this.#redlock = redlock
    this.#client = client
    this.#ttl = ttl
  }

  acquire(name: string): Promise<unknown> {
    return this.#redlock.acquire([name], this.#ttl)
  }

  release(held: unknown): Promise<unknown> {
    return (held as { release(): Promise<unknown> }).release()
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

export type Class<T> = new (clients: Ioredis[], options: object) => T

export const redlock4: ContenderKind = {
  role: 'peer',
  settings,
  async open({ url, ttl }: OpenOptions) {
    const { default: Redlock } = await load<{ default: Class<Redlock4> }>('redlock4')
    const client = await connectIoredis(url)
    return new Redlock4Contender(new Redlock([client], retries), client, ttl)
  },
}

export const redlock5: ContenderKind = {
  role: 'peer',
  settings,
  async open({ url, ttl }: OpenOptions) {
    const { default: Redlock } = await load<{ default: Class<Redlock5> }>('redlock5')
    const client = await connectIoredis(url)
    return new Redlock5Contender(new Redlock([client], retries), client, ttl)
  },
}

export const sesamecareRedlock: ContenderKind = {
  role: 'peer',
  settings,
  async open({ url, ttl }: OpenOptions) {
    const { Redlock } = await load<{ Redlock: Class<Redlock5> }>('@sesamecare-oss/redlock')
    const client = await connectIoredis(url)
    return new Redlock5Contender(new Redlock([client], retries), client, ttl)
  },
}
