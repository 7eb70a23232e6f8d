import { TTL_MS, type Contender, type ContenderKind } from './contender.ts'
import { connectIoredis, load, type Ioredis } from './packages.ts'

interface Mutex {
  readonly isAcquired: boolean
  acquire(): Promise<void>
  release(): Promise<void>
}

export type MutexClass<Client = Ioredis> = new (client: Client, key: string, options: object) => Mutex

/** redis-semaphore's Mutex: polls, and renews each lock by a timer and a call of its own. */
export class RedisSemaphore<Client> implements Contender {
  readonly #Mutex: MutexClass<Client>
  readonly #client: Client
  readonly #options: object
  readonly #disconnect: () => void

  constructor(Mutex: MutexClass<Client>, client: Client, options: object, disconnect: () => void) {
    this.#Mutex = Mutex
    this.#client = client
    this.#options = options
    this.#disconnect = disconnect
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
    this.#disconnect()
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
    const client = await connectIoredis(url)
    return new RedisSemaphore(Mutex, client, { ...options, ...refresh }, () => client.disconnect())
  },
}
