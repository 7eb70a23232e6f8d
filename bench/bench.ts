import { startRedis, type RedisServer, type Worker } from '../packages/lab/src/index.ts'
import type { OpenWish } from './client/main.ts'
import { TTL_MS } from './contenders/contender.ts'
import type { ContenderName } from './contenders/index.ts'
import { Fleet } from './fleet.ts'
import type { Plan } from './plan.ts'
import type { ProxyWish } from './proxy.ts'

/** Who takes part, beside ours and the floor. */
export interface BenchOptions {
  readonly plan: Plan
  readonly peers: readonly ContenderName[]
}

/** The server, the client processes and the plan of one run. */
export class Bench {
  readonly plan: Plan
  readonly peers: readonly ContenderName[]
  readonly redis: RedisServer
  readonly fleet = new Fleet()
  /** What a reader of the figures must know: who failed where, who broke exclusion. */
  readonly notes: string[] = []
  /** Processes that have run before. */
  readonly #warm = new WeakSet<Worker>()
  #lastName = 0

  private constructor(redis: RedisServer, { plan, peers }: BenchOptions) {
    this.redis = redis
    this.plan = plan
    this.peers = peers
  }

  static async start(options: BenchOptions): Promise<Bench> {
    return new Bench(await startRedis(), options)
  }

  /** A name that nothing else uses. */
  freshName(): string {
    return `hot:${(this.#lastName += 1)}`
  }

  /** So many client processes of a contender, each connected, and warmed up when it is new. */
  async open(
    contender: ContenderName,
    options: { count?: number; url?: string; ttl?: number; waiters?: number } = {},
  ): Promise<readonly Worker[]> {
    const { count = 1, url = this.redis.url, ttl = TTL_MS, waiters = 1 } = options
    const clients = await this.fleet.clients(contender, count)
    const wish: OpenWish = { contender, url, ttl, waiters }
    await Promise.all(clients.map((client) => client.call('open', { ...wish })))
    const fresh = clients.filter((client) => !this.#warm.has(client))
    for (const client of fresh) this.#warm.add(client)
    await Promise.all(fresh.map((client) => client.call('warmUp')))
    return clients
  }

  /** A proxy before the server, in a process of its own. */
  async proxy(wish: Omit<ProxyWish, 'port'>): Promise<BenchProxy> {
    const worker = await this.fleet.proxy()
    const url = await worker.call<string>('start', { ...wish, port: this.redis.port })
    return new BenchProxy(worker, url)
  }

  async end(): Promise<void> {
    await this.fleet.end()
    await this.redis.stop()
  }
}

export class BenchProxy {
  readonly url: string
  readonly #worker: Worker

  constructor(worker: Worker, url: string) {
    this.#worker = worker
    this.url = url
  }

  async reset(): Promise<void> {
    await this.#worker.call('reset')
  }

  /** Commands since the last reset, without those that set up connections. */
  counts(): Promise<{ total: number; byName: Record<string, number> }> {
    return this.#worker.call('counts')
  }

  async end(): Promise<void> {
    await this.#worker.kill()
  }
}
