import { createHoldfast, type Holdfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectClient, type ConnectedClient } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'

/**
 * Goal: while a prefix changes in a rolling deployment, old and new code exclude, wake and hear each other.
 * Method: three generations of code on one server, each over a client of its own.
 */

const OLD = 'shop:v1'
const NEW = 'shop:v2'
const SOON_MS = 500

let server: RedisServer
let clients: ConnectedClient[] = []
let old: Holdfast
let both: Holdfast
let later: Holdfast

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  await server.command('FLUSHALL')
  clients = await Promise.all([1, 2, 3].map(() => connectClient('ioredis', server.url)))
  const store = (n: number) => redisStore((clients[n] as ConnectedClient).client)
  old = createHoldfast({ store: store(0), prefix: OLD })
  both = createHoldfast({ store: store(1), prefix: NEW, alsoPrefix: OLD })
  later = createHoldfast({ store: store(2), prefix: NEW })
})
afterEach(async () => {
  await Promise.all([old.close(), both.close(), later.close()])
  for (const client of clients) client.close()
})

const keys = async () =>
  ((await server.command('KEYS', 'shop:*')) as string[]).filter((key) => !key.endsWith(':fence'))

describe('L10: alsoPrefix', () => {
  test('excludes old code and new code, and is one lock to its holder', async () => {
    const held = await both.lock('a').acquire()
    expect((await keys()).sort()).toEqual([`${OLD}:{a}:lock`, `${NEW}:{a}:lock`])
    expect(await old.lock('a').tryAcquire()).toBeNull()
    expect(await later.lock('a').tryAcquire()).toBeNull()
    const fences = await Promise.all([old.inspect('a'), later.inspect('a')])
    for (const info of fences) expect(held.fence).toBeGreaterThanOrEqual(info?.fence ?? 0n)
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    expect(await keys()).toEqual([])
  })

  test.each(['old', 'later'] as const)('is woken by the release of %s code, and wakes it', async (who) => {
    const other = who === 'old' ? old : later
    const first = await other.lock('a').acquire()
    const waiting = both.lock('a').acquire()
    await waitFor(async () => (await other.inspect('a'))?.waiters === 1, { what: 'a waiter' })
    await sleep(200)
    const releasedAt = performance.now()
    await first.release()
    const held = await waiting
    expect(performance.now() - releasedAt).toBeLessThan(SOON_MS)
    const back = other.lock('a').acquire()
    await waitFor(async () => (await other.inspect('a'))?.waiters === 1, { what: 'a waiter' })
    await sleep(200)
    const givenBackAt = performance.now()
    await held.release()
    await (await back).release()
    expect(performance.now() - givenBackAt).toBeLessThan(SOON_MS)
    expect(await keys()).toEqual([])
  })

  test.each(['old', 'later'] as const)(
    'whoever forces it as %s code: the holder hears at once, and lets both go',
    async (who) => {
      const operator = who === 'old' ? old : later
      const held = await both.lock('a', { ttl: '1m' }).acquire()
      await sleep(300)
      const told = new Promise((resolve) => held.signal.addEventListener('abort', resolve))
      const forcedAt = performance.now()
      await operator.forceRelease('a')
      await told
      expect(performance.now() - forcedAt).toBeLessThan(SOON_MS)
      expect(held.lost).toBe('forced')
      await waitFor(async () => (await keys()).length === 0, { what: 'both halves to be gone' })
    },
  )

  test('takes nothing when one of the two is busy, however many try at once', async () => {
    const held = await later.lock('a').acquire()
    const tries = Array.from({ length: 20 }, () => both.lock('a', { wait: 200 }).tryRun(() => 1))
    for (const result of await Promise.all(tries)) expect(result).toMatchObject({ ran: false })
    await waitFor(async () => (await keys()).length === 1, { what: 'the old half to be given back' })
    await held.release()
    expect(await both.lock('a').tryRun(() => 1)).toEqual({ ran: true, value: 1 })
    expect(await keys()).toEqual([])
  })

  test('of many who want it, old, new and both, never two of those that exclude each other have it', async () => {
    let [oldInside, laterInside] = [0, 0]
    const enter = async (hf: Holdfast) => {
      await hf.lock('a', { wait: '30s' }).run(async () => {
        if (hf !== later) oldInside += 1
        if (hf !== old) laterInside += 1
        expect([oldInside, laterInside].every((inside) => inside <= 1)).toBe(true)
        await sleep(3)
        if (hf !== later) oldInside -= 1
        if (hf !== old) laterInside -= 1
      })
    }
    const all = [old, both, later].flatMap((hf) => Array.from({ length: 10 }, () => enter(hf)))
    await Promise.all(all)
    await waitFor(async () => (await keys()).length === 0, { what: 'nothing left' })
  })
})
