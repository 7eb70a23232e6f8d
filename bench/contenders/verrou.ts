import type { Contender, ContenderKind } from './contender.ts'
import { connectIoredis, load, type Ioredis } from './packages.ts'

interface VerrouLock {
  acquire(): Promise<boolean>
  release(): Promise<void>
}

interface LockFactory {
  createLock(name: string, ttl: number): VerrouLock
}

interface VerrouModule {
  readonly LockFactory: new (store: unknown, options: object) => LockFactory
}

interface VerrouRedisModule {
  readonly redisStore: (options: { connection: Ioredis }) => { factory(): unknown }
}

/** Verrou over its Redis driver: polls, without jitter; sends its release script in full each time. */
class Verrou implements Contender {
  readonly #factory: LockFactory
  readonly #client: Ioredis
  readonly #ttl: number

  constructor(factory: LockFactory, client: Ioredis, ttl: number) {
    this.#factory = factory
    this.#client = client
    this.#ttl = ttl
  }

  async acquire(name: string): Promise<VerrouLock> {
    const lock = this.#factory.createLock(name, this.#ttl)
    if (!(await lock.acquire())) throw new Error(`${name} was not to be had`)
    return lock
  }

  release(held: unknown): Promise<void> {
    return (held as VerrouLock).release()
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

export const verrou: ContenderKind = {
  role: 'peer',
  settings: 'retry: attempts without limit, delay 10 ms; ioredis 5',
  async open({ url, ttl }) {
    const { LockFactory } = await load<VerrouModule>('@verrou/core')
    const { redisStore } = await load<VerrouRedisModule>('@verrou/core/drivers/redis')
    const client = await connectIoredis(url)
    const store = redisStore({ connection: client }).factory()
    return new Verrou(new LockFactory(store, { retry: { delay: 10 } }), client, ttl)
  },
}
