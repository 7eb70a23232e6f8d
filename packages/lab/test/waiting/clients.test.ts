import { createHoldfast, InvalidArgumentError } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import * as nodeRedis6 from 'redis'
import * as nodeRedis5 from 'redis5'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startProxy, startRedis, type RedisServer, type TcpProxy } from '../../src/index.ts'

/**
 * Goal: a client that cannot serve is refused at once, by name, and not one command is sent.
 * Method: real clients of each family, in each of the wrong states, behind a proxy that counts.
 */

let server: RedisServer
let proxy: TcpProxy
const ends: (() => unknown)[] = []

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  proxy = await startProxy({ target: server })
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  expect(proxy.commands.byName).toEqual({})
  await proxy.close()
})

const loose = (value: unknown): never => value as never

function refusalOf(client: unknown): InvalidArgumentError {
  try {
    redisStore(loose(client))
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError)
    return error as InvalidArgumentError
  }
  throw new Error('it was not refused')
}

/** A client that connects only when it is told to. */
function made<C extends { on(event: string, listener: () => void): unknown }>(
  client: C,
  end: (client: C) => unknown,
): C {
  client.on('error', () => {})
  ends.push(() => end(client))
  return client
}
const ioredis6 = (options: object) =>
  made(new Redis6({ port: proxy.port, lazyConnect: true, ...options }), (client) => client.disconnect())
const ioredis5 = (options: object) =>
  made(new Redis5({ port: proxy.port, lazyConnect: true, ...options }), (client) => client.disconnect())

describe('a client with a key prefix', () => {
  test.each([
    ['ioredis 6', ioredis6],
    ['ioredis 5', ioredis5],
  ])('%s', (_, client) => {
    const refusal = refusalOf(client({ keyPrefix: 'app:' }))
    expect(refusal.option).toBe('client.keyPrefix')
    expect(refusal.message).toContain('"app:"')
    expect(refusal.message).toContain("createHoldfast({ prefix: 'shop:v1' })")
    expect(() => redisStore(loose(client({ keyPrefix: '' })))).not.toThrow()
  })

  test('node-redis 6', () => {
    const client = nodeRedis6.createClient({ url: proxy.url, keyPrefix: 'app:' })
    const refusal = refusalOf(client)
    expect(refusal.option).toBe('client.keyPrefix')
    expect(refusal.message).toContain('"app:"')
    expect(() => redisStore(nodeRedis6.createClient({ url: proxy.url }))).not.toThrow()
  })
})

const cluster6 = (options: object) =>
  made(new Cluster6([{ port: proxy.port }], { lazyConnect: true, ...options }), (client) =>
    client.disconnect(),
  )
const cluster5 = (options: object) =>
  made(new Cluster5([{ port: proxy.port }], { lazyConnect: true, ...options }), (client) =>
    client.disconnect(),
  )

describe('a client of a cluster', () => {
  test.each([
    ['ioredis 6', () => cluster6({ keyPrefix: 'app:' })],
    ['ioredis 5', () => cluster5({ redisOptions: { keyPrefix: 'app:' } })],
    ['node-redis 6', () => nodeRedis6.createCluster({ rootNodes: [{ url: proxy.url }], keyPrefix: 'app:' })],
  ])('with a key prefix: %s', (_, create) => {
    const refusal = refusalOf(create())
    expect(refusal.option).toBe('client.keyPrefix')
    expect(refusal.message).toContain("createHoldfast({ prefix: 'shop:v1' })")
  })

  test.each([
    ['ioredis 6', cluster6],
    ['ioredis 5', cluster5],
  ])('closed: %s', (_, create) => {
    const client = create({})
    client.disconnect()
    expect(refusalOf(client).message).toContain('is closed')
  })

  test.each([
    ['node-redis 6', () => nodeRedis6.createCluster({ rootNodes: [{ url: proxy.url }] })],
    ['node-redis 5', () => nodeRedis5.createCluster({ rootNodes: [{ url: proxy.url }] })],
  ])('never connected: %s is refused at its first use', async (_, create) => {
    const hf = createHoldfast({ store: redisStore(loose(create())) })
    for (const call of [hf.lock('a').acquire(), hf.lock('a').tryAcquire(), hf.inspect('a')]) {
      const refusal: unknown = await call.catch((error: unknown) => error)
      expect(refusal).toMatchObject({ code: 'INVALID_ARGUMENT', option: 'client' })
      expect((refusal as Error).message).toContain('client.connect()')
    }
    await hf.close()
  })
})

describe('a client of another kind', () => {
  test.each([
    [
      'node-redis 6',
      () =>
        nodeRedis6.createSentinel({ name: 'm', sentinelRootNodes: [{ host: proxy.host, port: proxy.port }] }),
    ],
    [
      'node-redis 5',
      () =>
        nodeRedis5.createSentinel({ name: 'm', sentinelRootNodes: [{ host: proxy.host, port: proxy.port }] }),
    ],
  ])('but a sentinel of %s is taken', (_, create) => {
    expect(() => redisStore(create() as never)).not.toThrow()
  })

  test.each([
    ['a pool of node-redis', () => nodeRedis6.createClientPool({ url: proxy.url })],
    ['GLIDE', () => ({ customCommand: async () => null, close: () => {} })],
    ['a URL', () => proxy.url],
    ['a promise of a client', () => Promise.resolve(ioredis6({}))],
    ['options of a client', () => ({ port: proxy.port, host: proxy.host })],
    ['the module', () => nodeRedis6],
    ['the class', () => Redis6],
    ['nothing', () => undefined],
    ['null', () => null],
    ['a number', () => proxy.port],
    ['a Map', () => new Map()],
    ['something with a call', () => ({ call: () => {} })],
    ['something with a sendCommand', () => ({ sendCommand: () => {} })],
  ])('that is none: %s', (_, create) => {
    const refusal = refusalOf(create())
    expect(refusal.option).toBe('client')
    expect(refusal.message).toContain('is not a Redis client that we know')
    expect(refusal.message).toContain('ioredis (5 or 6), iovalkey, or node-redis (5 or 6)')
  })

  test('a client itself is no store', () => {
    expect(() => createHoldfast({ store: loose(ioredis6({})) })).toThrow(
      /^store: .+ is not a store\. Give redisStore\(client\)/,
    )
  })
})

describe('a closed client', () => {
  test.each([
    ['ioredis 6', (port: number) => new Redis6({ port })],
    ['ioredis 5', (port: number) => new Redis5({ port }) as unknown as Redis6],
  ])('%s: is refused before it is opened, and at the next use when it is closed later', async (_, create) => {
    const client = create(proxy.port)
    client.on('error', () => {})
    await new Promise((resolve) => client.once('ready', resolve))
    const hf = createHoldfast({ store: redisStore(client) })
    client.disconnect()
    await new Promise((resolve) => client.once('end', resolve))
    expect(refusalOf(client).message).toContain('is closed')
    for (const call of [
      hf.lock('a').acquire(),
      hf.lock('a').tryAcquire(),
      hf.inspect('a'),
      hf.forceRelease('a'),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'client' })
    }
    await hf.close()
  })

  test.each([
    ['node-redis 6', (url: string) => nodeRedis6.createClient({ url })],
    [
      'node-redis 5',
      (url: string) => nodeRedis5.createClient({ url }) as unknown as nodeRedis6.RedisClientType,
    ],
  ])('%s: is refused at the first use, never connected or destroyed', async (_, create) => {
    const client = create(proxy.url)
    client.on('error', () => {})
    const hf = createHoldfast({ store: redisStore(client) })
    const refused = async () => {
      const calls = [hf.lock('a').acquire(), hf.lock('a').run(() => 1), hf.inspect('a')]
      // At once: they are refused in an order of their own.
      const refusals = await Promise.all(calls.map((call) => call.catch((error: unknown) => error)))
      for (const refusal of refusals) {
        expect(refusal).toBeInstanceOf(InvalidArgumentError)
        expect(refusal).toMatchObject({ option: 'client' })
        expect((refusal as Error).message).toContain('client.connect()')
      }
    }
    await refused()
    await client.connect()
    client.destroy()
    await refused()
    await hf.close()
  })
})

test('a refused client keeps none of our listeners', () => {
  const client = ioredis6({ keyPrefix: 'app:' })
  const before = client.listenerCount('ready')
  refusalOf(client)
  expect(() => createHoldfast({ store: redisStore(ioredis6({})), closeOn: loose('SIGTERM') })).toThrow()
  expect(client.listenerCount('ready')).toBe(before)
})
