import { startProxy, type TcpProxy } from '../proxy/tcp-proxy.ts'
import { waitFor } from '../wait.ts'
import { startRedis, type RedisServer } from './redis.ts'
import type { RedisConfig } from './redis-config.ts'

export interface ReplicaSetOptions {
  /** How many replicas. Default 2. */
  readonly replicas?: number
  /** How many sentinels watch over them; a majority of them decides. Default none. Not with `links`. */
  readonly sentinels?: number
  /** Whether each replica reaches its primary through a proxy, so that it can lag or be cut off. Default no. */
  readonly links?: boolean
  /** Further directives, for every data server. */
  readonly config?: RedisConfig
  /** How long the sentinels wait before they take a primary for dead, in milliseconds. Default 500. */
  readonly downAfter?: number
  /** The sentinels' `failover-timeout`, in milliseconds: they begin no second failover within twice that. Default 6 000. */
  readonly failoverTimeout?: number
}

/** The name by which the sentinels know the set. */
const SET = 'kit'

/** A replica is there within milliseconds: nothing is gathered before its copy is sent. */
const QUICK_COPIES: RedisConfig = {
  'repl-diskless-sync': 'yes',
  'repl-diskless-sync-delay': 0,
  'repl-ping-replica-period': 1,
}

/**
 * Starts a primary, its replicas, and on demand sentinels that watch over them. Resolves when the replicas are in sync and the sentinels
 * know each other and all replicas; they take seconds for that, since they look at replicas once in ten seconds.
 *
 * Rejects as `startRedis` does; nothing is left behind then.
 */
export async function startReplicaSet(options: ReplicaSetOptions = {}): Promise<ReplicaSet> {
  const {
    replicas = 2,
    sentinels = 0,
    links = false,
    config = {},
    downAfter = 500,
    failoverTimeout = 6_000,
  } = options
  if (links && sentinels > 0)
    throw new Error('sentinels point replicas past their links: start a set with links or with sentinels')
  const set = new ReplicaSet()
  try {
    const settings = { ...QUICK_COPIES, ...config }
    const primary = await startRedis({ config: settings })
    await set.addPrimary(primary)
    for (let i = 0; i < replicas; i += 1) await set.addReplica(settings, links)
    await set.untilInSync()
    await Promise.all(
      Array.from({ length: sentinels }, () => set.addSentinel({ downAfter, failoverTimeout }, sentinels)),
    )
    if (sentinels > 0) await set.untilWatched()
    return set
  } catch (error) {
    await set.stop()
    throw error
  }
}

/** A primary with its replicas, and who watches over them. */
export class ReplicaSet {
  /** The data servers. The first one was the primary in the beginning. */
  readonly servers: RedisServer[] = []
  /** The way of each replica of the beginning to its primary, when `links` was asked for. */
  readonly links: TcpProxy[] = []
  /** The same for every server that ever was a replica. */
  readonly #links = new Map<RedisServer, TcpProxy>()
  readonly sentinels: RedisServer[] = []
  /** The name by which clients ask the sentinels for the primary. */
  readonly name = SET
  #door: TcpProxy | undefined

  /** An address that leads to the primary, as a virtual one does; `promote` moves it. Sentinels do not. */
  get door(): TcpProxy {
    if (this.#door === undefined) throw new Error('this set has no primary yet')
    return this.#door
  }

  /** The replicas of the beginning. */
  get replicas(): RedisServer[] {
    return this.servers.slice(1)
  }

  /** Where clients find the sentinels. */
  get sentinelAddresses(): { host: string; port: number }[] {
    return this.sentinels.map(({ host, port }) => ({ host, port }))
  }

  /** The running servers that take themselves for the primary; several while an old one does not know better. */
  async primaries(): Promise<RedisServer[]> {
    const roles = await Promise.all(this.servers.map((server) => roleOf(server)))
    return this.servers.filter((_, i) => roles[i] === 'master')
  }

  /** Resolves when there is one primary, other than `than` when that is given, and it takes writes. */
  async untilPrimary(options: { than?: RedisServer; within?: number } = {}): Promise<RedisServer> {
    const { than, within = 20_000 } = options
    return waitFor(
      async () => {
        const [primary, ...others] = (await this.primaries()).filter((server) => server !== than)
        if (primary === undefined || others.length > 0) return null
        await primary.command('SET', 'kit:written', '1', 'PX', '1000')
        return primary
      },
      { what: 'a primary that takes writes', within },
    )
  }

  /** Resolves when every running replica has all that its primary wrote so far, and the primary counts them all; also when that becomes another one meanwhile. */
  async untilInSync(): Promise<void> {
    let askedOf: RedisServer | undefined
    await waitFor(
      async () => {
        const [primary, ...rivals] = await this.primaries()
        if (primary === undefined || rivals.length > 0) return false
        const others = this.servers.filter((server) => server !== primary && server.running)
        // After a copy nothing more is sent before the replica has said that it has it, which it says once in a second: so not before it has a write.
        if (askedOf !== primary) await primary.command('SET', 'kit:written', '1', 'PX', '1000')
        askedOf = primary
        const { master_repl_offset: offset, ...told } = await primary.info('replication')
        const online = Object.entries(told).filter(
          ([name, text]) => /^slave\d+$/.test(name) && text.includes('state=online'),
        )
        // One that began anew is counted twice until its first connection is gone.
        const counted = Number(told.connected_slaves)
        if (online.length !== others.length || counted !== others.length) return false
        const copies = await Promise.all(others.map((server) => server.info('replication')))
        return copies.every(
          (copy) => copy.master_link_status === 'up' && Number(copy.slave_repl_offset) >= Number(offset),
        )
      },
      { what: 'the replicas to be in sync', within: 40_000 },
    )
  }

  /** Makes a replica the primary, by hand: the others that run follow it, and the door leads to it. */
  async promote(server: RedisServer): Promise<void> {
    await server.command('REPLICAOF', 'NO', 'ONE')
    this.door.leadTo(server)
    const others = this.servers.filter((other) => other !== server && other.running)
    await Promise.all(others.map((other) => this.#follow(other, server).catch(() => undefined)))
  }

  /** Brings a killed server back, empty, as a replica of the primary, and resolves when all are in sync. */
  async rejoin(server: RedisServer): Promise<void> {
    const primary = await this.untilPrimary()
    await server.restart({ keepData: false })
    await this.#follow(server, primary)
    await this.untilInSync()
  }

  /** Every replica lags by so many milliseconds from now on, or not at all (0). Only with `links`. */
  lag(ms: number): void {
    for (const link of this.#links.values()) link.toClient.delay(ms)
  }

  /** Kills the primary, and what is under way to its replicas is lost with it: a machine that is gone. */
  async killPrimary(primary: RedisServer): Promise<void> {
    const killed = primary.kill()
    for (const link of this.#links.values()) {
      link.toClient.drop()
      link.resetAll()
    }
    await killed
  }

  /** Where the sentinels say that the primary is. */
  async watched(): Promise<number | null> {
    for (const sentinel of this.sentinels) {
      if (!sentinel.running) continue
      const reply = await sentinel.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', SET)
      return Array.isArray(reply) ? Number(reply[1]) : null
    }
    return null
  }

  /** Orders a failover from the sentinels, with the primary alive. Resolves when another is the primary. */
  async failover(): Promise<RedisServer> {
    const [primary] = await this.primaries()
    const [sentinel] = this.sentinels
    if (sentinel === undefined || primary === undefined) throw new Error('this set has no sentinels')
    await sentinel.command('SENTINEL', 'FAILOVER', SET)
    return this.untilPrimary({ than: primary })
  }

  /** Ends all of it. */
  async stop(): Promise<void> {
    for (const server of [...this.sentinels, ...this.servers]) server.resume()
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server.stop()))
    await Promise.all([...this.#links.values()].map((link) => link.close()))
    await this.#door?.close()
  }

  /** For `startReplicaSet`. */
  async addPrimary(server: RedisServer): Promise<void> {
    this.servers.push(server)
    this.#door = await startProxy({ target: server })
  }

  /** For `startReplicaSet`. */
  async addReplica(config: RedisConfig, linked: boolean): Promise<void> {
    const [primary] = this.servers as [RedisServer]
    const link = linked ? await startProxy({ target: primary, protocol: 'bytes' }) : null
    const { port } = link ?? primary
    const server = await startRedis({ config })
    this.servers.push(server)
    if (link !== null) {
      this.links.push(link)
      this.#links.set(server, link)
    }
    await server.command('REPLICAOF', primary.host, port)
  }

  /** For `startReplicaSet`. */
  async addSentinel(
    { downAfter, failoverTimeout }: { downAfter: number; failoverTimeout: number },
    count: number,
  ): Promise<void> {
    const [{ host, port }] = this.servers as [RedisServer]
    const sentinel = await startRedis({
      sentinel: true,
      config: {
        sentinel: [
          `monitor ${SET} ${host} ${port} ${Math.floor(count / 2) + 1}`,
          `down-after-milliseconds ${SET} ${downAfter}`,
          `failover-timeout ${SET} ${failoverTimeout}`,
          `parallel-syncs ${SET} ${this.servers.length}`,
        ],
      },
    })
    this.sentinels.push(sentinel)
    // From Redis 7 on: they look at the servers more often than once in ten seconds, or once in one during a failover.
    await sentinel.command('SENTINEL', 'DEBUG', 'INFO-PERIOD', 200).catch(() => undefined)
  }

  async #follow(server: RedisServer, primary: RedisServer): Promise<void> {
    let { port } = primary
    if (this.links.length > 0) {
      const link = this.#links.get(server) ?? (await startProxy({ target: primary, protocol: 'bytes' }))
      this.#links.set(server, link)
      link.leadTo(primary)
      link.toClient.pass()
      ;({ port } = link)
    }
    await server.command('REPLICAOF', primary.host, port)
  }

  /** For `startReplicaSet`: until every sentinel knows all others and all replicas. */
  async untilWatched(): Promise<void> {
    await waitFor(
      async () => {
        const views = await Promise.all(this.sentinels.map((sentinel) => viewOf(sentinel)))
        return views.every(
          (view) =>
            Number(view['num-slaves']) === this.servers.length - 1 &&
            Number(view['num-other-sentinels']) === this.sentinels.length - 1,
        )
      },
      { what: 'the sentinels to know each other and the replicas', within: 40_000, every: 50 },
    )
  }
}

async function roleOf(server: RedisServer): Promise<string | null> {
  if (!server.running) return null
  const reply = await server.command('ROLE').catch(() => null)
  return Array.isArray(reply) ? String(reply[0]) : null
}

async function viewOf(sentinel: RedisServer): Promise<Record<string, string>> {
  const words = (await sentinel.command('SENTINEL', 'MASTER', SET)) as string[]
  const view: Record<string, string> = {}
  for (let i = 0; i + 1 < words.length; i += 2) view[words[i] as string] = words[i + 1] as string
  return view
}
