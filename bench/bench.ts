import {
  startPostgres,
  startRedis,
  startReplicaSet,
  type PostgresServer,
  type RedisServer,
  type ReplicaSet,
  type Worker,
} from '../packages/lab/src/index.ts'
import type { Json } from '../packages/lab/src/servers/worker-side.ts'
import type { OpenWish } from './client/main.ts'
import type { OpenLimiterWish } from './client/limits/main.ts'
import { TTL_MS } from './contenders/contender.ts'
import type { AnyName, ContenderName } from './contenders/index.ts'
import type { LimiterName } from './contenders/limits/index.ts'
import type { OpenOnceWish } from './client/once/main.ts'
import type { OpenGuardWish } from './client/guards/main.ts'
import type { GuardName } from './contenders/guards/index.ts'
import type { OnceName } from './contenders/once/index.ts'
import type { OpenLimiterOptions } from './contenders/limits/limiter.ts'
import { Fleet } from './fleet.ts'
import type { Plan } from './plan.ts'
import type { ProxyWish } from './proxy.ts'

/** Who takes part, beside ours and the floor. */
export interface BenchOptions {
  readonly plan: Plan
  readonly peers: readonly ContenderName[]
  readonly limiterPeers: readonly LimiterName[]
}

/** How a limiter is opened, where it is not as usual: in one process, without a lease, with its memory of denials. */
export interface LimiterOptions extends Partial<Omit<OpenLimiterOptions, 'limits'>> {
  readonly count?: number
}

/** The server, the client processes and the plan of one run. */
export class Bench {
  readonly plan: Plan
  readonly peers: readonly ContenderName[]
  readonly limiterPeers: readonly LimiterName[]
  readonly redis: RedisServer
  readonly fleet = new Fleet()
  /** What a reader of the figures must know: who failed where, who broke exclusion. */
  readonly notes: string[] = []
  /** Processes that have run before. */
  readonly #warm = new WeakSet<Worker>()
  #lastName = 0
  #five: Promise<readonly RedisServer[]> | null = null
  #set: Promise<ReplicaSet> | null = null
  #postgres: Promise<PostgresServer> | null = null

  private constructor(redis: RedisServer, { plan, peers, limiterPeers }: BenchOptions) {
    this.redis = redis
    this.plan = plan
    this.peers = peers
    this.limiterPeers = limiterPeers
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
    return this.#open(contender, count, { contender, url, ttl, waiters } satisfies OpenWish)
  }

  /** So many client processes of a limiter, each connected, and warmed up when it is new. */
  async openLimiter(
    limiter: LimiterName,
    limits: OpenLimiterOptions['limits'],
    options: LimiterOptions = {},
  ): Promise<readonly Worker[]> {
    const { count = 1, url = this.redis.url, lease = null, remembers = true, patient = false } = options
    return this.#open(limiter, count, {
      limiter,
      url,
      limits,
      lease,
      remembers,
      patient,
    } satisfies OpenLimiterWish)
  }

  /** A client process of one that runs work once, connected, and warmed up when it is new. */
  async openOnce(once: OnceName, url = this.redis.url): Promise<Worker> {
    const [client] = await this.#open(once, 1, { once, url } satisfies OpenOnceWish)
    return client as Worker
  }

  /** A client process that writes to a row of Postgres, connected, and warmed up when it is new. */
  async openGuard(guard: GuardName): Promise<Worker> {
    // Commits are to be as quick as they can: what they wait for is the same for all.
    this.#postgres ??= startPostgres({ settings: { synchronous_commit: 'off' } })
    const { url } = await this.#postgres
    const [client] = await this.#open(guard, 1, { guard, url } satisfies OpenGuardWish)
    return client as Worker
  }

  async #open(
    name: AnyName,
    count: number,
    wish: { readonly [key: string]: Json },
  ): Promise<readonly Worker[]> {
    const clients = await this.fleet.clients(name, count)
    await Promise.all(clients.map((client) => client.call('open', wish)))
    const fresh = clients.filter((client) => !this.#warm.has(client))
    for (const client of fresh) this.#warm.add(client)
    await Promise.all(fresh.map((client) => client.call('warmUp', this.plan.warmUpOfAProcess)))
    return clients
  }

  /** The addresses of five independent servers, as contenders over a quorum take them. */
  async fiveServers(): Promise<string> {
    this.#five ??= Promise.all(Array.from({ length: 5 }, () => startRedis()))
    return (await this.#five).map(({ url }) => url).join(' ')
  }

  /** The address of a primary with two replicas. */
  async replicatedServer(): Promise<string> {
    this.#set ??= startReplicaSet({ replicas: 2 })
    return (await this.#set).servers[0]?.url ?? ''
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
    for (const server of (await this.#five) ?? []) await server.stop()
    await (await this.#set)?.stop()
    // One that could not be started is noted already.
    await (await this.#postgres?.catch(() => null))?.stop()
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
