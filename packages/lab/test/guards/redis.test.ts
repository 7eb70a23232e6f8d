import { createHoldfast, StaleFenceError } from 'holdfast'
import { redisFence, redisStore } from 'holdfast/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { clientFamilies, connectClient, type ConnectedClient } from '../../src/clients.ts'

/** Goal: a value in Redis is never overwritten under a lower fence than the one it has. */

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

describe.each(clientFamilies)('guards: redis over %s', (kind) => {
  const guard = redisFence({ prefix: 'shop:v1' })
  const key = 'shop:v1:{stock:1}:fenced'
  let connected: ConnectedClient
  beforeEach(async () => {
    connected = await connectClient(kind, server.url)
  })
  afterEach(async () => {
    connected.close()
    await server.command('FLUSHALL')
  })

  test('a value is written under fences that are not lower, and refused under a lower one', async () => {
    const { client } = connected
    await guard.write(client, 'stock:1', 'nine', 5n)
    await guard.write(client, 'stock:1', 'eight', 5n)
    await guard.write(client, 'stock:1', 'seven', 7n)
    const refused = guard.write(client, 'stock:1', 'late', 6n)
    await expect(refused).rejects.toBeInstanceOf(StaleFenceError)
    await expect(refused).rejects.toMatchObject({ resource: 'stock:1', fence: 6n, accepted: 7n })
    expect(await guard.read(client, 'stock:1')).toEqual({ value: 'seven', fence: 7n })
    expect(await guard.read(client, 'stock:2')).toBeNull()
  })

  test('takes a held lock, remembers its name, and refuses another', async () => {
    const hf = createHoldfast({ store: redisStore(connected.client), prefix: 'shop:v1' })
    await hf.lock('stock:1').run(async (held) => {
      await guard.write(connected.client, 'stock:1', 'x', held)
      expect((await guard.read(connected.client, 'stock:1'))?.fence).toBe(held.fence)
    })
    await hf.lock('another').run(async (held) => {
      const wrong = guard.write(connected.client, 'stock:1', 'y', held)
      await expect(wrong).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'lock' })
    })
    await hf.close()
  })

  test('once: each fence writes a single time', async () => {
    const { client } = connected
    await guard.write(client, 'stock:1', 'a', 5n, { once: true })
    await expect(guard.write(client, 'stock:1', 'a', 5n, { once: true })).rejects.toMatchObject({
      accepted: 5n,
    })
    await guard.write(client, 'stock:1', 'b', 6n, { once: true })
  })

  test('compares fences by all their digits', async () => {
    const { client } = connected
    await guard.write(client, 'stock:1', 'a', 99n)
    await guard.write(client, 'stock:1', 'b', 100n)
    await guard.write(client, 'stock:1', 'c', 2n ** 63n - 1n)
    await expect(guard.write(client, 'stock:1', 'd', 2n ** 63n - 2n)).rejects.toMatchObject({
      accepted: 2n ** 63n - 1n,
    })
  })

  test('a value whose time is over reads as absent, and its fence still refuses', async () => {
    const { client } = connected
    await guard.write(client, 'stock:1', 'short', 7n, { ttl: 30 })
    expect(Number(await server.command('PTTL', key))).toBeGreaterThan(86_000_000)
    await waitFor(async () => (await guard.read(client, 'stock:1')) === null, { what: 'the value to end' })
    await expect(guard.write(client, 'stock:1', 'late', 6n)).rejects.toMatchObject({ accepted: 7n })
  })

  test('a removed value leaves its fence for as long as asked, and no key without an end', async () => {
    const { client } = connected
    const short = redisFence({ prefix: 'shop:v1', keepFence: '1s' })
    await short.write(client, 'stock:1', 'x', 7n)
    expect(await server.command('PTTL', key)).toBe(-1)
    await expect(short.remove(client, 'stock:1', 6n)).rejects.toMatchObject({ accepted: 7n })
    await short.remove(client, 'stock:1', 7n)
    expect(await short.read(client, 'stock:1')).toBeNull()
    const left = Number(await server.command('PTTL', key))
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(1_000)
    await expect(short.write(client, 'stock:1', 'late', 6n)).rejects.toMatchObject({ accepted: 7n })
  })

  test('raise shuts out everything below and keeps the value; check writes nothing', async () => {
    const { client } = connected
    await guard.write(client, 'stock:1', 'x', 5n)
    await guard.raise(client, 'stock:1', 9n)
    await guard.raise(client, 'stock:1', 3n)
    await expect(guard.write(client, 'stock:1', 'late', 8n)).rejects.toMatchObject({ accepted: 9n })
    await expect(guard.check(client, 'stock:1', 8n)).rejects.toMatchObject({ accepted: 9n })
    await guard.check(client, 'stock:1', 10n)
    expect(await guard.read(client, 'stock:1')).toEqual({ value: 'x', fence: 10n })
    await guard.raise(client, 'unseen', 4n)
    expect(Number(await server.command('PTTL', 'shop:v1:{unseen}:fenced'))).toBeGreaterThan(0)
    expect(await guard.read(client, 'unseen')).toBeNull()
  })

  test('is one call on the server, also when it does not know the script', async () => {
    const { client } = connected
    await guard.write(client, 'stock:1', 'x', 5n)
    await server.command('SCRIPT', 'FLUSH')
    await guard.write(client, 'stock:1', 'y', 6n)
    await server.command('CONFIG', 'RESETSTAT')
    await guard.write(client, 'stock:1', 'z', 7n)
    const stats = await server.info('commandstats')
    expect(stats['cmdstat_evalsha']).toMatch(/^calls=1,/)
    expect(stats['cmdstat_eval']).toBeUndefined()
  })

  test('is loud before anything is sent', async () => {
    const { client } = connected
    await server.command('CONFIG', 'RESETSTAT')
    const wrong: Promise<unknown>[] = [
      guard.write(client, 'r', 'x', 5 as never),
      guard.write(client, 'r', 5 as never, 5n),
      guard.write(client, 'r', 'x', 5n, { ttl: '1 second' as never }),
      guard.write(client, 'r', 'x', 5n, { tll: 1 } as never),
      guard.write(client, '', 'x', 5n),
      guard.write({} as never, 'r', 'x', 5n),
      guard.check(client, 'r', { name: 'l', fence: 5n, fences: 'none' } as never),
    ]
    for (const each of await Promise.allSettled(wrong))
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'INVALID_ARGUMENT' } })
    expect(await server.info('commandstats')).not.toHaveProperty('cmdstat_evalsha')
    expect(() => redisFence({ keepFence: '1ms' })).toThrow('keepFence:')
    expect(() => redisFence({ prefx: 'x' } as never)).toThrow('Did you mean "prefix"?')
  })
})
