import { InvalidArgumentError } from '../errors.ts'

/** What a guard uses of a client of ioredis (5 or 6) or iovalkey. */
export interface FenceIoredisLike {
  readonly status: string
  call(command: string, args: string[]): Promise<unknown>
}

/** What a guard uses of a client of node-redis (5 or 6). */
export interface FenceNodeRedisLike {
  readonly isOpen: boolean
  sendCommand(args: readonly string[]): Promise<unknown>
}

/** What a guard uses of a cluster's client of node-redis (5 or 6). A `Cluster` of ioredis or iovalkey is called as their other clients are. */
export interface FenceNodeRedisClusterLike {
  readonly isOpen: boolean
  readonly masters: readonly object[]
  sendCommand(firstKey: string, isReadonly: boolean, args: readonly string[]): Promise<unknown>
}

/** A client that a guard works over. */
export type FenceRedisClient = FenceIoredisLike | FenceNodeRedisLike | FenceNodeRedisClusterLike

interface Script {
  readonly source: string
  readonly sha1: string
}

/** Calls a script with one key: by its hash, and with its text where the server does not know it. */
export async function callScript(
  client: FenceRedisClient,
  { source, sha1 }: Script,
  key: string,
  args: readonly string[],
): Promise<unknown> {
  const send = sender(client, key)
  try {
    return await send('EVALSHA', [sha1, '1', key, ...args])
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
    return send('EVAL', [source, '1', key, ...args])
  }
}

/** @throws InvalidArgumentError for what is no client that we know, or one with a key prefix */
function sender(
  client: unknown,
  key: string,
): (command: string, args: readonly string[]) => Promise<unknown> {
  const given = Object(client) as Partial<Record<string, unknown>>
  const { keyPrefix } = Object(given['options']) as { keyPrefix?: unknown }
  if (typeof keyPrefix === 'string' && keyPrefix !== '') {
    throw refused(client, 'has a keyPrefix, which does not reach every raw call')
  }
  if (typeof given['call'] === 'function' && typeof given['status'] === 'string') {
    const ioredis = client as FenceIoredisLike
    return (command, args) => ioredis.call(command, [...args])
  }
  if (typeof given['sendCommand'] === 'function' && typeof given['isOpen'] === 'boolean') {
    if ('nodeClient' in given && 'masters' in given) {
      const cluster = client as FenceNodeRedisClusterLike
      return (command, args) => cluster.sendCommand(key, false, [command, ...args])
    }
    const nodeRedis = client as FenceNodeRedisLike
    return (command, args) => nodeRedis.sendCommand([command, ...args])
  }
  throw refused(client, 'is not a Redis client that we know')
}

function refused(client: unknown, problem: string): InvalidArgumentError {
  return new InvalidArgumentError('client', typeof client === 'object' ? client?.constructor?.name : client, {
    problem,
    remedy: 'Give a client of ioredis, iovalkey or node-redis without keyPrefix.',
  })
}
