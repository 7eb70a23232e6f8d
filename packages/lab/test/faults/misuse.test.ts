import { createHoldfast, slidingWindow } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { createClient } from 'redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedis, type RedisServer } from '../../src/index.ts'

/**
 * Goal: what stands in for a store that is down does not stand in for a mistake in the program. Method: a client that nobody connected.
 */

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

test('a client that was never connected is told, whatever was chosen for a store that is down', async () => {
  const hf = createHoldfast({ store: redisStore(createClient({ url: server.url })) })
  const refused = { code: 'INVALID_ARGUMENT', option: 'client' }
  for (const onStoreError of ['allow', 'deny', 'local'] as const) {
    const limiter = hf.limiter(onStoreError, slidingWindow({ limit: 1, per: '1m' }), { onStoreError })
    await expect(limiter.take('u')).rejects.toMatchObject(refused)
    await expect(limiter.take('u')).rejects.toMatchObject(refused)
  }
  const once = hf.idempotency('pay', { onStoreError: 'run' })
  let ran = 0
  await expect(once.run({ key: 'k', scope: 's' }, {}, () => (ran += 1))).rejects.toMatchObject(refused)
  expect(ran).toBe(0)
  await hf.close()
})
