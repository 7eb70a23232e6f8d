import type { Clock } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { OpenStore, Store, StoreContext, StoreTraits } from '../../store/contract.ts'
import { checkIoredis, IoredisPort, isIoredis, type IoredisLike } from './ioredis.ts'
import { checkNodeRedis, isNodeRedis, NodeRedisPort, type NodeRedisLike } from './node-redis.ts'
import type { RedisPort } from './port.ts'
import { RedisLockStore } from './lock-store.ts'

/** A client that can be handed over: ioredis 5 or 6, iovalkey, node-redis 5 or 6. */
export type RedisClient = IoredisLike | NodeRedisLike

const TRAITS: StoreTraits = { fences: 'clocked', wake: 'push', clock: 'server', durable: 'server' }

/**
 * A store on one Redis (6.2 or later) or Valkey server, over a client of yours.
 *
 * Costs: every operation is one script call; calls of one turn of the event loop travel together. While somebody waits or
 * holds for longer, one more connection is opened (by the client's `duplicate()`) to be woken and told of forced releases.
 * The client itself is never closed by us.
 *
 * Promises under failure: a lock lives on this one server. If the server loses data (restart without persistence, failover
 * to a replica that had not got it), the lock is lost with it and another may be granted; fences still rise, as long as the
 * servers' clocks agree to within the time between the two grants. Clock: the server's for expiry, ours (monotonic) for
 * the holder's deadline.
 *
 * Give a client of node-redis 5 `disableOfflineQueue: true`. Without it, a connection that breaks at the wrong moment leaves
 * that client waiting for ever, or handing over replies to other commands; we notice and take no such reply, but cannot
 * mend the client. Version 6 does not do this.
 *
 * @throws InvalidArgumentError for something that is not such a client, one with `keyPrefix`, of a cluster, or closed
 */
export function redisStore(client: RedisClient): Store {
  const connect = portFor(client)
  return {
    kind: 'redis',
    traits: TRAITS,
    open: (context) => openRedis(connect(context.clock), context),
  }
}

function portFor(client: unknown): (clock: Clock) => RedisPort {
  if (typeof client === 'object' && client !== null) {
    if (isIoredis(client)) {
      checkIoredis(client)
      return (clock) => new IoredisPort(client, clock)
    }
    if (isNodeRedis(client)) {
      checkNodeRedis(client)
      return (clock) => new NodeRedisPort(client, clock)
    }
  }
  throw new InvalidArgumentError('client', client, {
    problem: 'is not a Redis client that we know',
    remedy: 'Give a client of ioredis (5 or 6), iovalkey, or node-redis (5 or 6).',
  })
}

function openRedis(port: RedisPort, context: StoreContext): OpenStore {
  const locks = new RedisLockStore(port, context)
  return {
    locks,
    close: async () => {
      await locks.close()
      port.detach()
    },
  }
}
