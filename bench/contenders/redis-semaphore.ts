import { TTL_MS, type Contender, type ContenderKind } from './contender.ts'
import { connectIoredis, load, type Ioredis } from './packages.ts'

interface Mutex {
  readonly isAcquired: boolean
  acquire(): Promise<void>
  release(): Promise<void>
}

type MutexClass = new (client: Ioredis, key: string, options: object) => Mutex

/** redis-semaphore's Mutex: polls, and renews each lock by a timer and a call of its own. */
class RedisSemaphore implements Contender {
  readonly #Mutex: MutexClass
  readonly #client: Ioredis
  readonly #options: object

  constructor(Mutex: MutexClass, client: Ioredis, options: object) {
    this.#Mutex = Mutex
    this.#client = client
    this.#options = options
  }

  async acquire(name: string): Promise<Mutex> {
    const mutex = new this.#Mutex(this.#client, name, this.#options)
    await mutex.acquire()
    return mutex
  }

  release(held: unknown): Promise<void> {
    return (held as Mutex).release()
  }

  countLost(held: readonly unknown[]): number {
    return held.filter((each) => !(each as Mutex).isAcquired).length
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

export const redisSemaphore: ContenderKind = {
  role: 'peer',
  settings: 'retryInterval 10 ms, acquireTimeout 2 min; ioredis 5',
  async open({ url, ttl }) {
    const { Mutex } = await load<{ Mutex: MutexClass }>('redis-semaphore')
    const options = { lockTimeout: ttl, acquireTimeout: 120_000, retryInterval: 10 }
    // Where renewal is what is measured, as often as ours.
    const refresh = ttl === TTL_MS ? {} : { refreshInterval: Math.round(ttl / 3) }
    return new RedisSemaphore(Mutex, await connectIoredis(url), { ...options, ...refresh })
  },
}
