import { connectIoredis, load, type Ioredis } from '../packages.ts'
import { capacityOf, type Limiter, type LimiterKind, type OpenLimiterOptions } from './limiter.ts'

interface Store {
  init(options: { windowMs: number }): void
  increment(key: string): Promise<{ readonly totalHits: number }>
}

type StoreClass = new (options: {
  sendCommand: (command: string, ...args: string[]) => Promise<unknown>
}) => Store

/** What express-rate-limit decides by: its Redis store, without HTTP. Fixed windows, and what is denied counts too. */
class RateLimitRedis implements Limiter {
  readonly #store: Store
  readonly #limit: number
  readonly #client: Ioredis

  constructor(store: Store, limit: number, client: Ioredis) {
    this.#store = store
    this.#limit = limit
    this.#client = client
  }

  take(subject: string, cost: number): Promise<unknown> {
    if (cost !== 1) throw new Error('rate-limit-redis has no costs')
    return this.#store.increment(subject)
  }

  allows(answer: unknown): boolean {
    return (answer as { readonly totalHits: number }).totalHits <= this.#limit
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

export const rateLimitRedis: LimiterKind = {
  role: 'peer',
  settings: 'the store of express-rate-limit, defaults; ioredis 5',
  async open({ url, limits: [limit, ...others] }: OpenLimiterOptions) {
    if (others.length > 0) throw new Error('it decides by one limit')
    const { RedisStore } = await load<{ RedisStore: StoreClass }>('rate-limit-redis')
    const client = await connectIoredis(url)
    const store = new RedisStore({ sendCommand: (command, ...args) => client.call(command, args) })
    store.init({ windowMs: limit.per })
    return new RateLimitRedis(store, capacityOf(limit), client)
  },
}
