import { lockStoreContract, type LockStoreBench } from 'holdfast/testing'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { connectResp, redisUrlOrStart, type RedisToUse, type RespConnection } from '../../src/index.ts'
import { keysWithoutExpiry, redisBench } from './redis-bench.ts'

let redis: RedisToUse
/** The way behind the store's back. */
let back: RespConnection

beforeAll(async () => {
  redis = await redisUrlOrStart()
  const { hostname, port } = new URL(redis.url)
  back = await connectResp({ host: hostname, port: Number(port) })
})

afterAll(async () => {
  back.close()
  await redis.stop()
})

describe.concurrent.each(clientKinds)('lock store contract: redis over %s', (kind) => {
  const cases = lockStoreContract<LockStoreBench>({
    traits: { fences: 'clocked', wake: 'push', clock: 'server', durable: 'server' },
    setUp: async () => redisBench(kind, redis.url),
    remove: async (_bench, key) => {
      await back.call('DEL', key)
    },
    put: async (_bench, key, value, ttl) => {
      await back.call('SET', key, value, ...(ttl === null ? [] : ['PX', ttl]))
    },
    keysWithoutExpiry: ({ prefix }) => keysWithoutExpiry(back, prefix),
  })
  for (const { name, run } of cases) test(name, run)
})
