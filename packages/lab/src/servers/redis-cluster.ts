import { waitFor } from '../wait.ts'
import { freePort } from './free-port.ts'
import { startRedis } from './redis.ts'
import type { RedisServer } from './redis.ts'
import type { RedisConfig } from './redis-config.ts'

export interface ClusterOptions {
  /** Default 3, which is the least that can elect a successor. */
  readonly primaries?: number
  /** Of each primary. Default 1. */
  readonly replicas?: number
  /** Milliseconds after which a silent node is taken for dead. Default 1 000. */
  readonly nodeTimeout?: number
  /** Further directives for every node. */
  readonly config?: RedisConfig
}

/** How many slots there are. */
const SLOTS = 16_384
/** How often a replica is told to take over. */
const FAILOVER_TRIES = 6
/** The longest time in milliseconds until all nodes agree about something. */
const AGREED_WITHIN_MS = 40_000

/**
 * Starts a Redis Cluster of our own on loopback: primaries that share the slots evenly, with their replicas. Resolves when every
 * node knows every other, serves, and every replica follows its primary. Needs Redis 7.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { primaries = 3, replicas = 1, nodeTimeout = 1_000, config = {} } = options
  const nodes: RedisServer[] = []
  try {
    for (let i = 0; i < primaries * (1 + replicas); i++) nodes.push(await startNode(nodeTimeout, config))
    const cluster = new RedisCluster(nodes)
    await cluster.form(primaries)
    return cluster
  } catch (error) {
    await Promise.all(nodes.map((node) => node.stop()))
    throw error
  }
}

async function startNode(nodeTimeout: number, config: RedisConfig): Promise<RedisServer> {
  return startRedis({
    config: {
      'cluster-enabled': 'yes',
      'cluster-config-file': 'nodes.conf',
      // Else it is 10 000 above the port, where outgoing connections are given theirs.
      'cluster-port': await freePort(),
      'cluster-node-timeout': nodeTimeout,
      'cluster-announce-ip': '127.0.0.1',
      'repl-diskless-sync-delay': 0,
      ...config,
    },
  })
}

/** Six nodes (unless asked otherwise) that are one Redis Cluster. */
export class RedisCluster {
  /** All nodes that were started, whatever they are now: first those that began as primaries. */
  readonly nodes: readonly RedisServer[]
  readonly #ids = new Map<RedisServer, string>()

  /** Nodes that do not know each other yet. Use `startCluster`. */
  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes
  }

  /** Where clients may begin. */
  get addresses(): { host: string; port: number }[] {
    return this.nodes.map(({ host, port }) => ({ host, port }))
  }

  /** Makes a cluster of the nodes. `startCluster` calls this. */
  async form(primaries: number): Promise<void> {
    const heads = this.nodes.slice(0, primaries)
    for (const [i, node] of this.nodes.entries()) {
      this.#ids.set(node, (await node.command('CLUSTER', 'MYID')) as string)
      await node.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
    }
    for (const [i, head] of heads.entries()) {
      const from = Math.floor((i * SLOTS) / primaries)
      const to = Math.floor(((i + 1) * SLOTS) / primaries) - 1
      await head.command('CLUSTER', 'ADDSLOTSRANGE', from, to)
    }
    const [first, ...others] = this.nodes as [RedisServer, ...RedisServer[]]
    const [, busPort = ''] = (await first.command('CONFIG', 'GET', 'cluster-port')) as string[]
    for (const node of others) await node.command('CLUSTER', 'MEET', first.host, first.port, busPort)
    await this.#untilAll('know each other', async (node) => {
      const lines = await this.#table(node)
      return lines.length === this.nodes.length && lines.every(({ flags }) => !flags.includes('handshake'))
    })
    for (const [i, node] of this.nodes.slice(primaries).entries()) {
      await node.command('CLUSTER', 'REPLICATE', this.idOf(heads[i % primaries] as RedisServer))
    }
    // Nodes hear of it from each other, and later than those that it is about.
    await this.#untilAll('know who follows', async (node) => {
      const followers = (await this.#table(node)).filter(({ flags }) => flags.includes('slave'))
      return followers.length === this.nodes.length - primaries
    })
    await this.untilHealthy()
  }

  /** Until every running node serves, sees no dead primary with slots, and every running replica follows. */
  async untilHealthy(): Promise<void> {
    await this.#untilAll('serve', async (node) => {
      if (!((await node.command('CLUSTER', 'INFO')) as string).includes('cluster_state:ok')) return false
      const lines = await this.#table(node)
      if (lines.some(({ slots, flags }) => slots.length > 0 && /fail/.test(flags))) return false
      const { role, master_link_status: link } = await node.info('replication')
      return role === 'master' || link === 'up'
    })
  }

  /** The name that the cluster knows a node by. */
  idOf(node: RedisServer): string {
    const id = this.#ids.get(node)
    if (id === undefined) throw new Error('it is no node of this cluster')
    return id
  }

  async slotOf(key: string): Promise<number> {
    return (await this.#anyNode().command('CLUSTER', 'KEYSLOT', key)) as number
  }

  /** The running primary that says of itself that it owns a slot. */
  async ownerOf(slot: number): Promise<RedisServer> {
    return waitFor(() => this.#ownerNow(slot), { what: `a running node to own slot ${slot}`, every: 20 })
  }

  async #ownerNow(slot: number): Promise<RedisServer | null> {
    for (const node of this.#running()) {
      const own = (await this.#table(node)).find(({ flags }) => flags.includes('myself'))
      if (own !== undefined && has(own, slot) && own.flags.includes('master')) return node
    }
    return null
  }

  /**
   * Until every running primary says that a slot is this node's, and knows the node's epoch: who does not would claim the same one at the
   * next move, and of two claims under one epoch either may win.
   */
  async untilOwner(slot: number, node: RedisServer): Promise<void> {
    const id = this.idOf(node)
    const agrees = async (each: RedisServer): Promise<boolean> => {
      const own = (await this.#table(node)).find(({ flags }) => flags.includes('myself'))
      const lines = await this.#table(each)
      const known = lines.find((line) => line.id === id)
      return known?.epoch === own?.epoch && lines.every((line) => has(line, slot) === (line.id === id))
    }
    await waitFor(async () => (await Promise.all((await this.primaries()).map(agrees))).every(Boolean), {
      what: `all primaries to know who owns slot ${slot}`,
      every: 20,
    })
  }

  /** The running nodes that are primaries now. */
  async primaries(): Promise<RedisServer[]> {
    const found: RedisServer[] = []
    for (const node of this.#running()) {
      if ((await node.info('replication'))['role'] === 'master') found.push(node)
    }
    return found
  }

  /** The running replicas of a primary. */
  async replicasOf(primary: RedisServer): Promise<RedisServer[]> {
    const lines = await this.#table(this.#anyNode())
    const ids = lines.filter(({ primary: of }) => of === this.idOf(primary)).map(({ id }) => id)
    return this.#running().filter((node) => ids.includes(this.idOf(node)))
  }

  /** A primary that is not this one. */
  async otherThan(node: RedisServer): Promise<RedisServer> {
    const other = (await this.primaries()).find((each) => each !== node)
    if (other === undefined) throw new Error('there is no other primary')
    return other
  }

  /** A command to the node that has a key now. */
  async command(key: string, ...args: (string | number)[]): Promise<unknown> {
    const owner = await this.ownerOf(await this.slotOf(key))
    return owner.command(...args)
  }

  /** Every key that begins so, on all running primaries. */
  async keys(prefix: string): Promise<string[]> {
    const found = await Promise.all(
      (await this.primaries()).map((node) => node.command('KEYS', `${prefix}*`) as Promise<string[]>),
    )
    return [...new Set(found.flat())]
  }

  /** Begins to move a slot: from now on its keys may be on either side, and the old owner answers ASK for those that left. */
  async openSlot(slot: number, to: RedisServer): Promise<SlotMove> {
    const from = await this.ownerOf(slot)
    if (from === to) throw new Error(`slot ${slot} lies there already`)
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', this.idOf(from))
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', this.idOf(to))
    return new SlotMove(this, slot, from, to)
  }

  /** Moves a slot with all its keys, and resolves when every primary knows. */
  async moveSlot(slot: number, to: RedisServer): Promise<void> {
    const move = await this.openSlot(slot, to)
    await move.moveKeys()
    await move.finish()
  }

  /** Makes a replica the primary, without loss, and resolves when all running nodes know. */
  async failover(replica: RedisServer): Promise<void> {
    const isPrimary = async (): Promise<boolean> => (await replica.info('replication'))['role'] === 'master'
    for (let tries = 0; tries < FAILOVER_TRIES && !(await isPrimary()); tries++) {
      // Soon after another failover the others may not vote for it.
      await replica.command('CLUSTER', 'FAILOVER')
      await waitFor(isPrimary, { what: 'the replica to take over', within: 3_000, every: 20 }).catch(
        () => false,
      )
    }
    await this.untilPrimary(replica)
  }

  /** Until a node is a primary with slots in the eyes of all running ones. */
  async untilPrimary(node: RedisServer): Promise<void> {
    const id = this.idOf(node)
    await this.#untilAll('know the new primary', async (each) => {
      const line = (await this.#table(each)).find((entry) => entry.id === id)
      return line !== undefined && line.flags.includes('master') && line.slots.length > 0
    })
  }

  /** Ends all nodes for good. */
  async stop(): Promise<void> {
    for (const node of this.nodes) node.resume()
    await Promise.all(this.nodes.map((node) => node.stop()))
  }

  #running(): RedisServer[] {
    return this.nodes.filter(({ running }) => running)
  }

  #anyNode(): RedisServer {
    const [node] = this.#running()
    if (node === undefined) throw new Error('no node runs')
    return node
  }

  async #untilAll(what: string, holds: (node: RedisServer) => Promise<boolean>): Promise<void> {
    await waitFor(async () => (await Promise.all(this.#running().map(holds))).every(Boolean), {
      what: `all nodes to ${what}`,
      within: AGREED_WITHIN_MS,
      every: 20,
    })
  }

  /** What a node knows of all nodes. */
  async #table(node: RedisServer): Promise<NodeLine[]> {
    const text = (await node.command('CLUSTER', 'NODES')) as string
    return text.trim().split('\n').map(lineOf)
  }
}

/** A slot that is on its way from one node to another. */
export class SlotMove {
  readonly slot: number
  readonly from: RedisServer
  readonly to: RedisServer
  readonly #cluster: RedisCluster

  constructor(cluster: RedisCluster, slot: number, from: RedisServer, to: RedisServer) {
    this.#cluster = cluster
    this.slot = slot
    this.from = from
    this.to = to
  }

  /** Moves its keys, all or those named. */
  async moveKeys(keys?: readonly string[]): Promise<void> {
    const moved =
      keys ?? ((await this.from.command('CLUSTER', 'GETKEYSINSLOT', this.slot, 10_000)) as string[])
    if (moved.length === 0) return
    await this.from.command('MIGRATE', this.to.host, this.to.port, '', 0, 5_000, 'KEYS', ...moved)
  }

  /** The slot belongs to its new owner, as all primaries know: the new one first, so that there is always one. */
  async finish(): Promise<void> {
    const id = this.#cluster.idOf(this.to)
    const others = (await this.#cluster.primaries()).filter((node) => node !== this.to && node !== this.from)
    for (const node of [this.to, this.from, ...others]) {
      await node.command('CLUSTER', 'SETSLOT', this.slot, 'NODE', id)
    }
    await this.#cluster.untilOwner(this.slot, this.to)
  }
}

/** One line of CLUSTER NODES. */
interface NodeLine {
  readonly id: string
  readonly flags: string
  /** The id of its primary; `-` for a primary. */
  readonly primary: string
  /** Its configuration's epoch: a later one wins. */
  readonly epoch: number
  readonly slots: readonly (readonly [number, number])[]
}

const has = ({ slots }: NodeLine, slot: number): boolean =>
  slots.some(([from, to]) => from <= slot && slot <= to)

function lineOf(line: string): NodeLine {
  const [id = '', , flags = '', primary = '', , , epoch, , ...ranges] = line.split(' ')
  const slots = ranges
    .filter((range) => !range.startsWith('['))
    .map((range) => {
      const [from = NaN, to = from] = range.split('-').map(Number)
      return [from, to] as const
    })
  return { id, flags, primary, epoch: Number(epoch), slots }
}
