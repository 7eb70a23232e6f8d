export { redisStore, type RedisClient } from './redis-store.ts'
export type { IoredisLike } from './ioredis.ts'
export type { NodeRedisLike } from './node-redis.ts'
