import type { Finding } from '../../check/report.ts'
import type { Clock } from '../../clock.ts'
import { bounds } from '../../defaults.ts'
import { parseDuration, type Duration } from '../../duration.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { kindOf } from '../../show.ts'
import { checkOptions } from '../../options.ts'
import type { OpenStore, Store, StoreContext, StoreTraits } from '../../store/contract.ts'
import { acknowledgeHazards, tryAcknowledge } from './acknowledge-hazards.ts'
import { checkAcknowledge, type AcknowledgeOptions, type AcknowledgeTerms } from './acknowledge.ts'
import { checkIoredis, IoredisPort, isIoredis, type IoredisLike } from './ioredis.ts'
import { checkNodeRedis, isNodeRedis, NodeRedisPort, type NodeRedisLike } from './node-redis.ts'
import { ClusterLink } from './cluster/cluster-link.ts'
import {
  checkIoredisCluster,
  IoredisClusterClient,
  isIoredisCluster,
  type IoredisClusterLike,
} from './cluster/ioredis-cluster.ts'
import {
  checkNodeRedisCluster,
  isNodeRedisCluster,
  NodeRedisClusterClient,
  type NodeRedisClusterLike,
} from './cluster/node-redis-cluster.ts'
import {
  checkNodeRedisSentinel,
  isNodeRedisSentinel,
  NodeRedisSentinelPort,
  type NodeRedisSentinelLike,
} from './node-redis-sentinel.ts'
import { hazardsOf, rightsFor } from './hazards.ts'
import { ServerLink, type RedisLink } from './link.ts'
import { RedisLimitStore } from './limit-store.ts'
import { RedisLockStore, type LockStoreTerms } from './lock-store.ts'
import { RedisOnceStore } from './once-store.ts'
import type { RedisPort } from './port.ts'
import { readServer, type ServerFacts } from './server-facts.ts'

/** A client that can be handed over: ioredis 5 or 6, iovalkey, node-redis 5 or 6. */
export type RedisClient = IoredisLike | NodeRedisLike

/** A client of a Redis Cluster: `Cluster` of ioredis 5 or 6 or iovalkey, `createCluster` of node-redis 5 or 6. */
export type RedisClusterClient = IoredisClusterLike | NodeRedisClusterLike

/** What {@link redisStore} takes beside its client. */
export interface RedisStoreOptions {
  /**
   * How long a server grants no locks after it was started (by its own uptime) or took over from another: until whatever it has
   * forgotten is over. No `ttl` may be longer. From 1 s to a day; default: it grants at once. The server itself keeps to it, under
   * `PREFIX:epoch`, for everybody who asks with the option; another length than the one on record is refused. A flush, and an
   * eviction, go unseen. Not over a cluster. Costs the server two readings of INFO with every acquire, and the client's user needs `+info`.
   */
  reopenDelay?: Duration
  /**
   * A lock is granted, renewed or extended only when so many replicas have it too: by `WAIT` on the connection that wrote it. An acquire that
   * too few have is undone, and asked for again while there is time; then {@link NotAcknowledgedError}. Only `replicas` equal to `of` survives
   * the promotion of any replica. Costs a round trip to the replicas, and up to four connections more. Limits and idempotency
   * are not acknowledged. Default: nobody is waited for.
   */
  acknowledge?: AcknowledgeOptions
}

const TRAITS: StoreTraits = { fences: 'clocked', wake: 'push', clock: 'server', durable: 'server' }

/**
 * A store on one Redis (6.2 or later) or Valkey server, or on a Redis Cluster, over a client of yours.
 *
 * Costs: every operation is one script call; calls of one turn of the event loop travel together. While somebody waits or
 * holds for longer, one more connection is opened (by the client's `duplicate()`) to be woken and told of forced releases.
 * The client itself is never closed by us.
 *
 * Limits: a decision about any number of policies is one round trip. With a key of 32 bytes a bucket takes 90 bytes of the
 * server's memory (120 where a token is an uncommon fraction of its window, or the bucket takes minutes to drain), a fixed window
 * or a counter 128; an exact window takes 8 to 16 bytes for each millisecond with a hit, a concurrency limit 32 for each slot.
 * Usage is lost when the server loses its data.
 *
 * Promises under failure: a lock lives on this one server. If the server loses data (restart without persistence, failover
 * to a replica that had not got it), the lock is lost with it and another may be granted; fences still rise, as long as the
 * servers' clocks agree to within the time between the two grants. Locks that were released within 30 s before, and are there
 * again, are released once more when another server answers (up to a thousand; a process that has ended does so no more).
 * Clock: the server's for expiry, ours (monotonic) for the holder's deadline.
 *
 * On a cluster each name lies on one primary, with its own last fence, and the above holds for that primary. The store opens a
 * connection of its own to each primary, by the `duplicate()` of the client's, and one more to each at which somebody waits; they
 * are closed with the instance. What was ready in one turn travels together as far as it has one slot.
 *
 * Give a client of node-redis 5 `disableOfflineQueue: true`. Without it, a connection that breaks at the wrong moment leaves
 * that client waiting for ever, or handing over replies to other commands; we notice and take no such reply, but cannot
 * mend the client. Version 6 does not do this.
 *
 * @throws InvalidArgumentError for something that is not such a client, one with `keyPrefix`, or closed; for an
 *   option that is wrong, and for `acknowledge` and `reopenDelay` over a cluster
 */
export function redisStore(
  client: RedisClient | NodeRedisSentinelLike | RedisClusterClient,
  options: RedisStoreOptions = {},
): Store {
  const connect = linkOver(client)
  checkOptions(options, ['reopenDelay', 'acknowledge'], 'redisStore')
  const { reopenDelay: wish } = options
  const reopenDelay =
    wish === undefined ? null : parseDuration(wish, 'reopenDelay', { min: 1_000, max: bounds.maxTtl })
  const acknowledge = options.acknowledge === undefined ? null : checkAcknowledge(options.acknowledge)
  if (isIoredisCluster(client) || isNodeRedisCluster(client)) refuseInCluster(options)
  return {
    kind: 'redis',
    traits: TRAITS,
    open: (context) => openRedis(connect(context.clock), context, { reopenDelay, acknowledge }),
  }
}

/** What is kept by one server for all of its locks, or by replicas that we know of. */
function refuseInCluster({ acknowledge, reopenDelay }: RedisStoreOptions): void {
  const remedy = 'Leave it out, or keep these locks on a primary with replicas, or on a quorum.'
  if (acknowledge !== undefined) {
    const problem = 'is not to be had over a cluster: nobody here knows which replicas follow which primary'
    throw new InvalidArgumentError('acknowledge', acknowledge, { problem, remedy })
  }
  if (reopenDelay === undefined) return
  const problem =
    'is not to be had over a cluster: what a node has on record would be lost together with the first grant of a name'
  throw new InvalidArgumentError('reopenDelay', reopenDelay, { problem, remedy })
}

function linkOver(client: unknown): (clock: Clock) => RedisLink {
  if (typeof client === 'object' && client !== null) {
    if (isIoredisCluster(client)) {
      checkIoredisCluster(client)
      return (clock) => new ClusterLink(new IoredisClusterClient(client, clock), clock)
    }
    if (isNodeRedisCluster(client)) {
      checkNodeRedisCluster(client)
      return (clock) => new ClusterLink(new NodeRedisClusterClient(client, clock), clock)
    }
    if (isIoredis(client)) {
      checkIoredis(client)
      return (clock) => new ServerLink(new IoredisPort(client, clock), clock)
    }
    if (isNodeRedisSentinel(client)) {
      checkNodeRedisSentinel(client)
      return (clock) => new ServerLink(new NodeRedisSentinelPort(client, clock), clock)
    }
    if (isNodeRedis(client)) {
      checkNodeRedis(client)
      return (clock) => new ServerLink(new NodeRedisPort(client, clock), clock)
    }
  }
  throw new InvalidArgumentError('client', kindOf(client), {
    problem: 'is not a Redis client that we know',
    remedy: 'Give a client of ioredis (5 or 6), iovalkey, or node-redis (5 or 6).',
  })
}

function openRedis(link: RedisLink, context: StoreContext, terms: LockStoreTerms): OpenStore {
  const { acknowledge = null } = terms
  const locks = new RedisLockStore(link, context, terms)
  return {
    locks,
    limits: new RedisLimitStore(link, context),
    once: new RedisOnceStore(link, context),
    check: async (budget) => {
      const until = context.clock.monotonic() + budget
      const ports = await link.ports(until)
      const servers = await Promise.all(ports.map((port) => readServer(port, context.clock, until)))
      const { inCluster } = link
      return {
        findings: [
          ...servers.flatMap((facts) => hazardsOf(facts, { inCluster })),
          ...(await acknowledgeFindings(ports[0], servers[0], { context, terms: acknowledge, until })),
        ],
        rights: rightsFor(servers[0]?.user ?? null, context.prefixes, {
          reopens: terms.reopenDelay !== null,
          inCluster,
        }),
      }
    },
    close: async () => {
      await locks.close()
      await link.close()
    },
  }
}

/** What there is to say of `acknowledge`, where it is demanded. */
async function acknowledgeFindings(
  port: RedisPort | undefined,
  facts: ServerFacts | undefined,
  { context, terms, until }: { context: StoreContext; terms: AcknowledgeTerms | null; until: number },
): Promise<Finding[]> {
  if (terms === null || port === undefined || facts === undefined) return []
  const key = `${context.prefixes[0] ?? ''}:check:${context.randomness.id(8)}`
  return acknowledgeHazards(facts, await tryAcknowledge(port, context.clock, { terms, key, until }), terms)
}
