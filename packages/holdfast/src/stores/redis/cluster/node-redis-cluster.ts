import { isNotOpen, refuseKeyPrefix } from '../client-checks.ts'
import type { Clock } from '../../../clock.ts'
import { ConnectionWatch, reconnectDelay, type ClientEvents } from '../connection.ts'
import { NodeRedisPort, type NodeRedisLike } from '../node-redis.ts'
import {
  mapped,
  type ClusterClient,
  type NodeAddress,
  type NodeConnection,
  type ShardConnection,
  type ShardListener,
} from './client.ts'

/** What we use of a cluster client of node-redis (5 or 6). */
export interface NodeRedisClusterLike extends ClientEvents {
  readonly isOpen: boolean
  readonly masters: readonly object[]
  nodeClient(node: never): unknown
}

/** A node as the client keeps it: the address that the cluster says, and the client that reaches it. */
interface ClusterNode {
  readonly host: string
  readonly port: number
  readonly client?: NodeRedisLike | undefined
}

/** What we use of the connections that it duplicates for us. */
interface NodeRedisNode extends NodeRedisLike {
  connect(): Promise<unknown>
  sSubscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  sUnsubscribe(channel: string): Promise<unknown>
  destroy(): void
  unref(): void
}

export function isNodeRedisCluster(client: object): client is NodeRedisClusterLike {
  return 'nodeClient' in client && 'masters' in client && 'isOpen' in client
}

/** @throws InvalidArgumentError when this client cannot be used, before anything is sent */
export function checkNodeRedisCluster(client: NodeRedisClusterLike): void {
  const { keyPrefix } = optionsOf(client)
  refuseKeyPrefix(keyPrefix, 'is added to keys by the client alone')
}

function checkOpen(client: NodeRedisClusterLike): void {
  if (client.isOpen) return
  throw isNotOpen('a node-redis cluster client')
}

/** What it was made with: the client has no public way to say. */
function optionsOf(client: NodeRedisClusterLike): { keyPrefix?: unknown; nodeAddressMap?: unknown } {
  const { _options: options } = client as { _options?: object }
  return options ?? {}
}

/** What we need of a cluster client of node-redis. */
export class NodeRedisClusterClient implements ClusterClient {
  readonly client = 'node-redis'
  readonly #cluster: NodeRedisClusterLike
  readonly #clock: Clock
  readonly #watch: ConnectionWatch
  /** The client of some node, after which ours are made. It was ready once: the present ones may be on their way. */
  #template: NodeRedisLike | null = null

  constructor(cluster: NodeRedisClusterLike, clock: Clock) {
    this.#cluster = cluster
    this.#clock = clock
    this.#watch = new ConnectionWatch(cluster, clock, { begin: 'connect', end: 'disconnect' })
  }

  get ready(): boolean {
    if (!this.#cluster.isOpen) return false
    this.#template ??= this.#nodes().find(({ client }) => client !== undefined)?.client ?? null
    return this.#template !== null
  }

  async whenReady(until: number): Promise<void> {
    if (this.ready) return
    checkOpen(this.#cluster)
    const [node] = this.#nodes()
    // It connects to its nodes when they are needed, if it was told so.
    if (node === undefined) await this.#watch.next(until, this.client)
    else this.#template = (await this.#cluster.nodeClient(node as never)) as NodeRedisLike
    checkOpen(this.#cluster)
  }

  seeds(): readonly NodeAddress[] {
    return this.#nodes().map(({ host, port }) => this.reachedAt({ host, port }))
  }

  reachedAt(announced: NodeAddress): NodeAddress {
    return mapped(optionsOf(this.#cluster).nodeAddressMap, announced)
  }

  connect(address: NodeAddress): NodeConnection {
    const connection = this.#open(address, reconnectDelay)
    connection.on('ready', () => connection.unref())
    const port = new NodeRedisPort(connection, this.#clock)
    connection.connect().catch(() => undefined)
    return {
      port,
      close: () => {
        port.detach()
        if (connection.isOpen) connection.destroy()
      },
    }
  }

  listenAt(address: NodeAddress, { ready, lost, message }: ShardListener): ShardConnection {
    const connection = this.#open(address, false)
    connection.on('ready', () => {
      connection.unref()
      ready()
    })
    connection.on('end', lost)
    connection.on('error', () => {
      if (!connection.isReady) lost()
    })
    connection.connect().catch(lost)
    return {
      subscribe: (channel) => connection.sSubscribe(channel, message),
      unsubscribe: (channel) => void connection.sUnsubscribe(channel).catch(() => undefined),
      close: () => {
        if (connection.isOpen) connection.destroy()
      },
    }
  }

  onEnd(listener: () => void): void {
    this.#watch.onEnd(listener)
  }

  detach(): void {
    this.#watch.detach()
  }

  /** Made as the client's own connections are. */
  #open({ host, port }: NodeAddress, reconnectStrategy: unknown): NodeRedisNode {
    if (this.#template === null) throw new Error('a cluster client that is ready knows a node')
    const { options } = this.#template as { options?: { socket?: object } }
    const connection = this.#template.duplicate({
      socket: { ...options?.socket, host, port, reconnectStrategy },
      readonly: false,
      disableOfflineQueue: true,
      clientSideCache: undefined,
    }) as NodeRedisNode
    connection.on('error', () => undefined)
    return connection
  }

  #nodes(): readonly ClusterNode[] {
    return this.#cluster.masters as readonly ClusterNode[]
  }
}
