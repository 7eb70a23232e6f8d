import { limitStoreContract, type LimitStoreBench } from 'holdfast/testing'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { connectResp, redisUrlOrStart, type RedisToUse, type RespConnection } from '../../src/index.ts'
import { keysUnder, keysWithoutExpiry, redisBench } from './redis-bench.ts'

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

describe.concurrent.each(clientKinds)('limit store contract: redis over %s', (kind) => {
  const cases = limitStoreContract<LimitStoreBench>({
    setUp: async () => redisBench(kind, redis.url),
    keys: async ({ prefix }) =>
      (await keysUnder(back, prefix)).filter((key) => !key.startsWith(`${prefix}:{limits}:reply:`)),
    keysWithoutExpiry: ({ prefix }) => keysWithoutExpiry(back, prefix),
  })
  for (const { name, run } of cases) test(name, run)
})
