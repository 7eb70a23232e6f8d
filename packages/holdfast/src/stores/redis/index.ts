export {
  redisStore,
  type RedisClient,
  type RedisClusterClient,
  type RedisStoreOptions,
} from './redis-store.ts'
export type { AcknowledgeOptions } from './acknowledge.ts'
export type { IoredisLike } from './ioredis.ts'
export type { NodeRedisLike } from './node-redis.ts'
export type { NodeRedisSentinelLike } from './node-redis-sentinel.ts'
export type { IoredisClusterLike } from './cluster/ioredis-cluster.ts'
export type { NodeRedisClusterLike } from './cluster/node-redis-cluster.ts'
export {
  redisFence,
  type FencedValue,
  type FencedWriteOptions,
  type RedisFence,
  type RedisFenceOptions,
} from '../../fence/redis-fence.ts'
