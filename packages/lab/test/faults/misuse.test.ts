import { createHoldfast, slidingWindow } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis as Redis6 } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { createClient } from 'redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedis, type RedisServer } from '../../src/index.ts'

/**
 * Goal: what stands in for a store that is down does not stand in for a mistake in the program. Method: a client that nobody connected, and
 * one that is subscribed to channels.
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

const subscribed = {
  'ioredis 5': () => ioredis(new Redis5({ port: server.port })),
  'ioredis 6 with RESP2': () => ioredis(new Redis6({ port: server.port, protocol: 2 })),
  'node-redis with RESP2': async () => {
    const client = createClient({ url: server.url, RESP: 2 })
    await client.connect()
    await client.subscribe('news', () => undefined)
    return { client, end: () => client.destroy() }
  },
}

async function ioredis<C extends Redis5 | Redis6>(client: C) {
  await client.subscribe('news')
  return { client, end: () => client.disconnect() }
}

test.each(Object.entries(subscribed))(
  'a client that is subscribed to channels is told at once: %s',
  async (_, open) => {
    const { client, end } = await open()
    const hf = createHoldfast({ store: redisStore(client) })
    const began = performance.now()
    const refusal: unknown = await hf
      .lock('a', { wait: '8s' })
      .acquire()
      .catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'INVALID_ARGUMENT', option: 'client', outcome: 'not-done' })
    expect((refusal as Error).message).toContain('is subscribed to channels')
    expect(performance.now() - began).toBeLessThan(6_000)
    await hf.close()
    end()
  },
)
