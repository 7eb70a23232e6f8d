import type { Holdfast } from 'holdfast'
import type { Redis } from 'ioredis'

/** Makes the value anew: slow, and the database feels it. */
export type Load = (name: string) => Promise<string>

export interface CacheOptions {
  /** Milliseconds for which a value counts as fresh. */
  readonly freshFor: number
  /** Milliseconds for which it may be shown afterwards, while one makes it anew. 0: nobody gets an old one. */
  readonly staleFor: number
}

interface Entry {
  readonly value: string
  /** By the clock of Redis, in milliseconds. */
  readonly freshUntil: number
}

/** The naive cache: look, and make it anew if it is not there. A thousand readers who miss at once make it a thousand times. */
export function naiveCache(redis: Redis, load: Load, { freshFor }: CacheOptions) {
  return async (name: string): Promise<string> => {
    const found = await redis.get(`cache:naive:${name}`)
    if (found !== null) return found
    const value = await load(name)
    await redis.set(`cache:naive:${name}`, value, 'PX', freshFor)
    return value
  }
}

/**
 * A cache of which one reader of all processes makes a value anew. The others take the old one for `staleFor`, or wait. A reader
 * that dies while it makes one is followed by the next when its lock has ended.
 *
 * The lock saves work, and nothing else depends on it: were it to fail, a value would be made twice.
 */
export class Cache {
  readonly #redis: Redis
  readonly #holdfast: Holdfast
  readonly #load: Load
  readonly #options: CacheOptions
  /** One reader of this process looks for all that ask meanwhile. */
  readonly #looking = new Map<string, Promise<string>>()

  constructor(redis: Redis, holdfast: Holdfast, load: Load, options: CacheOptions) {
    this.#redis = redis
    this.#holdfast = holdfast
    this.#load = load
    this.#options = options
  }

  read(name: string): Promise<string> {
    const looking = this.#looking.get(name) ?? this.#read(name).finally(() => this.#looking.delete(name))
    this.#looking.set(name, looking)
    return looking
  }

  async #read(name: string): Promise<string> {
    const lock = this.#holdfast.lock(`cache:${name}`, { ttl: '10s', wait: '10s' })
    const entry = await this.#entry(name)
    if (entry?.isFresh === true) return entry.value
    if (entry === null) return lock.run(() => this.#renew(name))
    // Somebody makes it anew, or this one does, and nobody waits for it.
    lock.tryRun(() => this.#renew(name)).catch((error: unknown) => console.error(error))
    return entry.value
  }

  async #renew(name: string): Promise<string> {
    // Who waited for the lock finds what its last holder made.
    const entry = await this.#entry(name)
    if (entry?.isFresh === true) return entry.value
    const value = await this.#load(name)
    const { freshFor, staleFor } = this.#options
    const made: Entry = { value, freshUntil: (await this.#now()) + freshFor }
    await this.#redis.set(`cache:${name}`, JSON.stringify(made), 'PX', freshFor + staleFor)
    return value
  }

  async #entry(name: string): Promise<{ value: string; isFresh: boolean } | null> {
    const [found, now] = await Promise.all([this.#redis.get(`cache:${name}`), this.#now()])
    if (found === null) return null
    const { value, freshUntil } = JSON.parse(found) as Entry
    return { value, isFresh: now < freshUntil }
  }

  /** The clock that all instances share. */
  async #now(): Promise<number> {
    const [seconds, micros] = await this.#redis.time()
    return Number(seconds) * 1_000 + Number(micros) / 1_000
  }
}
