import { redisStore } from 'holdfast/redis'
import { lockStoreContract, type LockStoreBench } from 'holdfast/testing'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { clientKinds, connectClient, type ConnectedClient } from '../../src/clients.ts'
import { connectResp, redisUrlOrStart, type RedisToUse, type RespConnection } from '../../src/index.ts'
import { systemBench } from './system-bench.ts'

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
    setUp: async () => {
      const clients: ConnectedClient[] = []
      return {
        ...systemBench(),
        connect: async () => {
          const connected = await connectClient(kind, redis.url)
          clients.push(connected)
          return redisStore(connected.client)
        },
        end: async () => {
          for (const client of clients) client.close()
        },
      }
    },
    remove: async (_bench, key) => {
      await back.call('DEL', key)
    },
    put: async (_bench, key, value, ttl) => {
      await back.call('SET', key, value, ...(ttl === null ? [] : ['PX', ttl]))
    },
    keysWithoutExpiry: async ({ prefix }) => {
      const endless: string[] = []
      for (const key of await keysUnder(prefix)) {
        if ((await back.call('PTTL', key)) === -1) endless.push(key)
      }
      return endless
    },
  })
  for (const { name, run } of cases) test(name, run)
})

async function keysUnder(prefix: string): Promise<string[]> {
  const keys: string[] = []
  let cursor = '0'
  do {
    const [next, found] = (await back.call('SCAN', cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1_000)) as [
      string,
      string[],
    ]
    keys.push(...found)
    cursor = next
  } while (cursor !== '0')
  return keys
}
