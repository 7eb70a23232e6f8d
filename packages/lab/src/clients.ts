/** The four Redis clients that the library works over, each connected by a URL. For tests, workers and the demo. */

import type { IoredisLike, NodeRedisLike, RedisClient } from 'holdfast/redis'

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
