import { isClosed, refuseKeyPrefix } from '../client-checks.ts'
import type { Clock } from '../../../clock.ts'
import { ConnectionWatch, reconnectDelay, type ClientEvents } from '../connection.ts'
import { IoredisPort, type IoredisLike } from '../ioredis.ts'
import {
  mapped,
  textOf,
  type ClusterClient,
  type NodeAddress,
  type NodeConnection,
  type ShardConnection,
  type ShardListener,
} from './client.ts'

/** What we use of a Cluster of ioredis (5 or 6) or iovalkey. */
export interface IoredisClusterLike extends ClientEvents {
  readonly isCluster: boolean
  readonly status: string
  readonly options: object
  nodes(): readonly unknown[]
  connect(): Promise<unknown>
}

/** What we use of the connections that it duplicates for us. */
interface IoredisNode extends IoredisLike {
  readonly stream?: { unref?(): unknown } | null
  ssubscribe(channel: string): Promise<unknown>
  sunsubscribe(channel: string): Promise<unknown>
}

export function isIoredisCluster(client: object): client is IoredisClusterLike {
  return 'isCluster' in client && client.isCluster === true && 'nodes' in client
}

/** @throws InvalidArgumentError when this client cannot be used, before anything is sent */
export function checkIoredisCluster(client: IoredisClusterLike): void {
  const { keyPrefix } = client.options as { keyPrefix?: unknown }
  refuseKeyPrefix(keyPrefix, 'is added to keys by the client alone')
  checkOpen(client)
}

function checkOpen(client: IoredisClusterLike): void {
  if (client.status !== 'end') return
  throw isClosed('an ioredis Cluster')
}

/** What we need of a Cluster of ioredis. */
export class IoredisClusterClient implements ClusterClient {
  readonly client = 'ioredis'
  readonly #cluster: IoredisClusterLike
  readonly #clock: Clock
  readonly #watch: ConnectionWatch

  constructor(cluster: IoredisClusterLike, clock: Clock) {
    this.#cluster = cluster
    this.#clock = clock
    this.#watch = new ConnectionWatch(cluster, clock)
  }

  get ready(): boolean {
    return this.#cluster.status === 'ready' && this.#cluster.nodes().length > 0
  }

  async whenReady(until: number): Promise<void> {
    if (this.ready) return
    checkOpen(this.#cluster)
    if (this.#cluster.status === 'wait') this.#cluster.connect().catch(() => undefined)
    await this.#watch.next(until, this.client)
    checkOpen(this.#cluster)
  }

  seeds(): readonly NodeAddress[] {
    return this.#nodes().map(({ options }) => options as NodeAddress)
  }

  reachedAt(announced: NodeAddress): NodeAddress {
    return mapped((this.#cluster.options as { natMap?: unknown }).natMap, announced)
  }

  connect(address: NodeAddress): NodeConnection {
    // What is in flight when the connection drops is rejected, and not sent again: its slot may lie elsewhere by then.
    const connection = this.#open(address, { retryStrategy: reconnectDelay, maxRetriesPerRequest: 0 })
    const port = new IoredisPort(connection, this.#clock)
    return {
      port,
      close: () => {
        port.detach()
        connection.disconnect()
      },
    }
  }

  listenAt(address: NodeAddress, { ready, lost, message }: ShardListener): ShardConnection {
    const options = { retryStrategy: () => null, enableOfflineQueue: false, autoResubscribe: false }
    const connection = this.#open(address, options)
    connection.on('ready', ready)
    connection.on('end', lost)
    connection.on('smessage', (_channel, text) => message(String(text)))
    return {
      subscribe: (channel) => connection.ssubscribe(channel),
      unsubscribe: (channel) => void connection.sunsubscribe(channel).catch(() => undefined),
      close: () => connection.disconnect(),
    }
  }

  onEnd(listener: () => void): void {
    this.#watch.onEnd(listener)
  }

  detach(): void {
    this.#watch.detach()
  }

  /** Made as the client's own connection to that node is, or to another one where it has none. */
  #open(address: NodeAddress, options: object): IoredisNode {
    const nodes = this.#nodes()
    const template =
      nodes.find(({ options: own }) => textOf(own as NodeAddress) === textOf(address)) ?? nodes[0]
    if (template === undefined) throw new Error('a cluster client that is ready knows a node')
    const own = { ...address, lazyConnect: true, readOnly: false, ...options }
    const connection = template.duplicate(own) as IoredisNode
    connection.on('error', () => undefined)
    connection.on('connect', () => connection.stream?.unref?.())
    connection.connect().catch(() => undefined)
    return connection
  }

  #nodes(): readonly IoredisLike[] {
    return this.#cluster.nodes() as readonly IoredisLike[]
  }
}
