import { Redis as Redis6 } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startProxy, startRedis, waitFor } from '../../src/index.ts'
import type { RedisServer, TcpProxy } from '../../src/index.ts'

/** What real clients do behind the proxy: the habits that the library has to live with. */

let server: RedisServer
let proxy: TcpProxy

beforeAll(async () => {
  server = await startRedis()
})

afterAll(() => server.stop())

beforeEach(async () => {
  await server.command('FLUSHALL')
  proxy = await startProxy({ target: server })
})

afterEach(() => proxy.close())

describe.each([
  ['ioredis 5', (port: number) => new Redis5({ port, retryStrategy: () => 10 }) as unknown as Redis6],
  ['ioredis 6', (port: number) => new Redis6({ port, retryStrategy: () => 10 })],
])('%s', (_, create) => {
  let client: Redis6

  beforeEach(() => {
    client = create(proxy.port)
    client.on('error', () => {})
  })

  afterEach(() => client.disconnect())

  test('its commands are counted without those it sends by itself', async () => {
    await client.set('a', '1')
    await client.get('a')
    expect(proxy.commands).toMatchObject({ total: 2, byName: { SET: 1, GET: 1 } })
    expect(proxy.commands.setup.total).toBeGreaterThan(0)
  })

  test('sends again by itself what was in flight when the connection dropped (A3)', async () => {
    await client.ping()
    const lost = proxy.loseReplyOf('SET')
    expect(await client.set('lock', 'me', 'PX', 30_000, 'NX')).toBeNull()
    expect(lost.count).toBe(1)
    expect(await server.command('GET', 'lock')).toBe('me')
    expect(proxy.commands.byName.SET).toBe(2)
  })

  test('a request that was held up arrives after its owner was done (D17)', async () => {
    await client.ping()
    const request = proxy.holdRequest('SET')
    const granted = client.set('lock', 'me', 'PX', 30_000, 'NX')
    await request.held
    request.cutConnection()
    expect(await granted).toBe('OK')
    await client.del('lock')
    expect(await request.deliver()).toBe('OK')
    expect(await server.command('GET', 'lock')).toBe('me')
  })

  test('reconnects after a reset, and after the proxy refused it', async () => {
    await client.ping()
    await proxy.refuse()
    proxy.resetAll()
    const later = client.incr('n')
    await proxy.accept()
    expect(await later).toBe(1)
  })

  test('its subscription is a connection of its own that can be cut alone', async () => {
    await client.subscribe('news')
    const heard: string[] = []
    client.on('message', (_channel: string, message: string) => heard.push(message))
    await server.command('PUBLISH', 'news', 'one')
    await waitFor(() => heard.length === 1, { what: 'the first message' })
    const subscriber = proxy.connections.find((connection) => connection.subscribed)
    subscriber?.reset()
    const subscribedAgain = () =>
      proxy.connections.some((each) => each.id !== subscriber?.id && each.subscribed)
    await waitFor(subscribedAgain, { what: 'it to subscribe again' })
    await waitFor(async () => ((await server.command('PUBLISH', 'news', 'two')) as number) > 0, {
      what: 'a hearer',
    })
    await waitFor(() => heard.includes('two'), { what: 'the second message' })
  })
})

describe('node-redis 6', () => {
  test('rejects what was in flight, and is counted', async () => {
    const client = createClient({ socket: { port: proxy.port, host: '127.0.0.1', reconnectStrategy: 10 } })
    client.on('error', () => {})
    await client.connect()
    await client.set('a', '1')
    expect(proxy.commands).toMatchObject({ total: 1, byName: { SET: 1 } })
    const lost = proxy.loseReplyOf('INCR')
    await expect(client.incr('n')).rejects.toThrow('ECONNRESET')
    expect(lost.count).toBe(1)
    expect(await client.incr('n')).toBe(2)
    client.destroy()
  })
})
