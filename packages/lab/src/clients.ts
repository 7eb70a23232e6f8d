/** The four Redis clients that the library works over, each connected by a URL. For tests, workers and the demo. */

import type {
  IoredisClusterLike,
  IoredisLike,
  NodeRedisClusterLike,
  NodeRedisLike,
  NodeRedisSentinelLike,
  RedisClient,
  RedisClusterClient,
} from 'holdfast/redis'

/** ioredis 6 and 5, node-redis 6 and 5. */
export const clientKinds = ['ioredis', 'ioredis5', 'redis', 'redis5'] as const
/** One of each family, for tests in which its version makes no difference. */
export const clientFamilies = ['ioredis', 'redis'] as const
export type ClientKind = (typeof clientKinds)[number]

export interface ConnectOptions {
  /** Milliseconds between two tries to reconnect. Default 10, far less than the clients' own: tests do not wait for it. */
  readonly reconnectAfter?: number
}

export interface ConnectedClient {
  readonly kind: ClientKind
  /** What `redisStore` takes. */
  readonly client: RedisClient
  /** A command of the test's own, over the same connection. */
  send(command: string, ...args: string[]): Promise<unknown>
  /** Ends the connection at once, also a half-open one; what is in flight is rejected. May be called again. */
  close(): void
}

/** Whether a client sends again by itself what was in flight when its connection died. */
export function sendsAgain(kind: ClientKind): boolean {
  return kind === 'ioredis' || kind === 'ioredis5'
}

/**
 * Connects a client, with its own defaults but for the pause before it reconnects and, in node-redis 5, its offline queue.
 * Resolves when it is ready.
 */
export async function connectClient(
  kind: ClientKind,
  url: string,
  { reconnectAfter = 10 }: ConnectOptions = {},
): Promise<ConnectedClient> {
  const ioredis = { lazyConnect: true, retryStrategy: () => reconnectAfter }
  const nodeRedis = { url, socket: { reconnectStrategy: () => reconnectAfter } }
  // Each is loaded only when it is used: a worker shall not pay for all four.
  switch (kind) {
    case 'ioredis':
      return connectIoredis(kind, new (await import('ioredis')).Redis(url, ioredis))
    case 'ioredis5':
      return connectIoredis(kind, new (await import('ioredis5')).Redis(url, ioredis))
    case 'redis':
      return connectNodeRedis(kind, (await import('redis')).createClient(nodeRedis))
    case 'redis5': {
      // With its offline queue it may hang for good, or mix up replies, once a connection breaks; see redisStore.
      const options = { ...nodeRedis, disableOfflineQueue: true }
      return connectNodeRedis(kind, (await import('redis5')).createClient(options))
    }
  }
}

/** What leads to the primary of a set, as its sentinels say. A `ReplicaSet` of the kit fits. */
export interface Watched {
  readonly name: string
  readonly sentinelAddresses: readonly { readonly host: string; readonly port: number }[]
}

/** A client of a Sentinel set; `close` as with {@link connectClient}. */
export interface WatchedClient {
  readonly kind: ClientKind
  readonly client: RedisClient | NodeRedisSentinelLike
  close(): Promise<void>
}

/**
 * Connects a client through the sentinels of a set, with its own defaults but for the pause before it reconnects. Without ioredis'
 * `failoverDetector`: with it that client was seen to end for good when it heard of the new primary while it was reconnecting.
 */
export async function connectWatched(
  kind: ClientKind,
  { name, sentinelAddresses }: Watched,
): Promise<WatchedClient> {
  const sentinels = sentinelAddresses.map(({ host, port }) => ({ host, port }))
  if (kind === 'ioredis' || kind === 'ioredis5') {
    const options = {
      sentinels,
      name,
      lazyConnect: true,
      retryStrategy: () => 20,
      sentinelRetryStrategy: () => 20,
    }
    const client =
      kind === 'ioredis'
        ? new (await import('ioredis')).Redis(options)
        : new (await import('ioredis5')).Redis(options)
    const connected = await connectIoredis(kind, client)
    return { kind, client: connected.client, close: () => Promise.resolve(connected.close()) }
  }
  const options = { name, sentinelRootNodes: sentinels, masterPoolSize: 2 }
  const client =
    kind === 'redis'
      ? (await import('redis')).createSentinel(options)
      : (await import('redis5')).createSentinel(options)
  // Without a listener it throws.
  client.on('error', () => {})
  await client.connect()
  return { kind, client, close: async () => void (await client.destroy()) }
}

async function connectIoredis(kind: ClientKind, client: IoredisLike): Promise<ConnectedClient> {
  // Without a listener it writes to the console.
  client.on('error', () => {})
  await client.connect()
  return {
    kind,
    client,
    send: (command, ...args) => client.call(command, args),
    close: () => client.disconnect(),
  }
}

async function connectNodeRedis(
  kind: ClientKind,
  client: NodeRedisLike & { connect(): Promise<unknown>; destroy(): void },
): Promise<ConnectedClient> {
  // Without a listener it throws.
  client.on('error', () => {})
  await client.connect()
  return {
    kind,
    client,
    send: (command, ...args) => client.sendCommand([command, ...args]),
    close: () => {
      if (client.isOpen) client.destroy()
    },
  }
}

/** A node of a cluster to begin with. */
export interface ClusterSeed {
  readonly host: string
  readonly port: number
}

export interface ConnectedCluster {
  readonly kind: ClientKind
  /** What `redisStore` takes. */
  readonly client: RedisClusterClient
  /** Ends its connections at once. May be called again. */
  close(): void
}

export interface ConnectClusterOptions {
  /** Default: the default user. */
  readonly login?: { readonly username?: string; readonly password?: string }
  /** Where nodes are reached that the cluster calls `host:port`, when that is elsewhere. */
  readonly reachedAt?: Record<string, ClusterSeed>
}

/** Connects a client to a Redis Cluster. Resolves when it is ready. */
export async function connectCluster(
  kind: ClientKind,
  seeds: readonly ClusterSeed[],
  { login = {}, reachedAt }: ConnectClusterOptions = {},
): Promise<ConnectedCluster> {
  const ioredis = {
    lazyConnect: true,
    clusterRetryStrategy: () => 50,
    slotsRefreshTimeout: 5_000,
    redisOptions: login,
    ...(reachedAt === undefined ? {} : { natMap: reachedAt }),
  }
  const map = reachedAt === undefined ? {} : { nodeAddressMap: reachedAt }
  const rootNodes = seeds.map(({ host, port }) => ({ url: `redis://${host}:${port}` }))
  switch (kind) {
    case 'ioredis':
      return connectIoredisCluster(kind, new (await import('ioredis')).Cluster([...seeds], ioredis))
    case 'ioredis5':
      return connectIoredisCluster(kind, new (await import('ioredis5')).Cluster([...seeds], ioredis))
    case 'redis':
      return connectNodeRedisCluster(
        kind,
        (await import('redis')).createCluster({ rootNodes, defaults: login, ...map }),
      )
    case 'redis5': {
      const options = { rootNodes, defaults: { ...login, disableOfflineQueue: true }, ...map }
      return connectNodeRedisCluster(kind, (await import('redis5')).createCluster(options))
    }
  }
}

async function connectIoredisCluster(
  kind: ClientKind,
  client: IoredisClusterLike & { disconnect(): void },
): Promise<ConnectedCluster> {
  client.on('error', () => {})
  await client.connect()
  return { kind, client, close: () => client.disconnect() }
}

async function connectNodeRedisCluster(
  kind: ClientKind,
  client: NodeRedisClusterLike & { connect(): Promise<unknown>; destroy(): void },
): Promise<ConnectedCluster> {
  client.on('error', () => {})
  await client.connect()
  return {
    kind,
    client,
    close: () => {
      if (client.isOpen) client.destroy()
    },
  }
}
