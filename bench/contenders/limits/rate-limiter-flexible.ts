import { connectIoredis, load, type Ioredis } from '../packages.ts'
import { capacityOf, type Limiter, type LimiterKind, type OpenLimiterOptions } from './limiter.ts'

interface Flexible {
  /** Resolves with how it stands; rejects with the same when it is denied, and with an Error when it failed. */
  consume(key: string, points: number): Promise<unknown>
}

interface FlexibleModule {
  readonly RateLimiterRedis: new (options: object) => Flexible
  readonly RateLimiterUnion: new (...limiters: Flexible[]) => Flexible
}

/** rate-limiter-flexible over Redis: fixed windows, of whole seconds, that begin with a key's first take. */
class RateLimiterFlexible implements Limiter {
  readonly #limiter: Flexible
  readonly #client: Ioredis

  constructor(limiter: Flexible, client: Ioredis) {
    this.#limiter = limiter
    this.#client = client
  }

  take(subject: string, cost: number): Promise<unknown> {
    return this.#limiter.consume(subject, cost).then(passed, denied)
  }

  allows(answer: unknown): boolean {
    return answer === true
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

const passed = (): boolean => true

function denied(reason: unknown): boolean {
  if (reason instanceof Error) throw reason
  return false
}

async function open({ url, limits }: OpenLimiterOptions, remembers: boolean): Promise<Limiter> {
  const { RateLimiterRedis, RateLimiterUnion } = await load<{ default: FlexibleModule }>(
    'rate-limiter-flexible',
  ).then((module) => module.default)
  const client = await connectIoredis(url)
  const limiters = limits.map((limit, i) => {
    const points = capacityOf(limit)
    const duration = Math.max(1, Math.round(limit.per / 1_000))
    const block = remembers ? { inMemoryBlockOnConsumed: points } : {}
    return new RateLimiterRedis({ storeClient: client, keyPrefix: `rlf${i}`, points, duration, ...block })
  })
  const [only, ...others] = limiters
  const all = others.length === 0 && only !== undefined ? only : new RateLimiterUnion(...limiters)
  return new RateLimiterFlexible(all, client)
}

export const rateLimiterFlexible: LimiterKind = {
  role: 'peer',
  settings: 'RateLimiterRedis, defaults; several limits: RateLimiterUnion; ioredis 5',
  open: (options) => open(options, false),
}

export const rateLimiterFlexibleBlocking: LimiterKind = {
  role: 'peer',
  settings: 'RateLimiterRedis, inMemoryBlockOnConsumed at the limit; ioredis 5',
  open: (options) => open(options, true),
}
