import { createHoldfast, QuorumImpossibleError, type Held, type Holdfast } from 'holdfast'
import { quorumStore } from 'holdfast/quorum'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterEach, beforeAll, afterAll, describe, expect, test } from 'vitest'
import { connectResp, startRedis, waitFor, type RedisServer } from '../../src/index.ts'

/**
 * Goal: a quorum over five real servers holds while a minority of them is killed, frozen or comes back empty.
 * Method: five servers of our own, two processes' worth of clients; what lies on the servers is read behind the store's back.
 */

const TTL = 3_000

let servers: RedisServer[]
const ends: (() => void | Promise<unknown>)[] = []

beforeAll(async () => {
  servers = await Promise.all(Array.from({ length: 5 }, () => startRedis()))
})

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()))
})

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function clientOf({ url }: RedisServer): Redis {
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 })
  client.on('error', () => {})
  ends.push(() => client.disconnect())
  return client
}

function open(fence = true): Holdfast {
  const store = quorumStore(
    servers.map((server) => redisStore(clientOf(server))),
    { fence, nodeBudget: '300ms' },
  )
  const hf = createHoldfast({ store })
  ends.push(() => hf.close())
  return hf
}

/** What lies at a lock's key on one server. */
async function valueAt({ host, port }: RedisServer, name: string): Promise<unknown> {
  const back = await connectResp({ host, port })
  try {
    return await back.call('GET', `holdfast:v1:{${name}}:lock`)
  } finally {
    back.close()
  }
}

async function nodesWith(name: string, nodes = servers): Promise<number> {
  const values = await Promise.all(nodes.map((server) => valueAt(server, name)))
  return values.filter((value) => value !== null).length
}

describe('a quorum of five Redis servers', () => {
  test('grants, excludes, hands over by waking, gives back everywhere, with rising fences', async () => {
    const [one, two] = [open(), open()]
    const held = await one.lock('plain').acquire()
    expect(await two.lock('plain').tryAcquire()).toBeNull()
    expect((await two.inspect('plain'))?.owner).toBe(held.owner)
    const waiting = two.lock('plain').acquire({ wait: '10s' })
    await waitFor(async () => (await one.inspect('plain'))?.waiters === 1, { what: 'the waiter to stand' })
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    const next = await waiting
    expect(next.fence).toBeGreaterThan(held.fence)
    expect(next.fences).toBe('clocked')
    await next.release()
    await waitFor(async () => (await nodesWith('plain')) === 0, { what: 'all nodes to be free' })
  })

  test('two servers killed, one comes back empty: the lock is held and renewed on; the empty one is taken in', async () => {
    const [one, two] = [open(), open()]
    const held = await one.lock('killed', { ttl: TTL }).acquire()
    const dead = servers.slice(0, 2)
    const alive = servers.slice(2)
    await Promise.all(dead.map((server) => server.kill()))
    try {
      expect(await two.lock('killed', { ttl: TTL }).tryAcquire()).toBeNull()
      const other = await two.lock('meanwhile', { ttl: TTL }).acquire()
      await other.release()
      await dead[0]?.restart({ keepData: false })
      await waitFor(async () => (await valueAt(dead[0] as RedisServer, 'killed')) !== null, {
        what: 'a renewal to take the empty server in',
        within: 3 * TTL,
      })
      await waitFor(async () => held.lost !== null || held.remaining() > TTL / 2, { what: 'a renewal' })
      expect(held.lost).toBeNull()
      expect(await two.lock('killed', { ttl: TTL }).tryAcquire()).toBeNull()
      expect(await nodesWith('killed', alive)).toBe(3)
      expect((await held.release()).released).toBe(true)
    } finally {
      await Promise.all(dead.map((server) => server.restart({ keepData: false })))
    }
  })

  test('B2, B6: one frozen is outvoted within its budget; three frozen make it impossible, and leave no key behind', async () => {
    const hf = open()
    const lock = hf.lock('frozen', { ttl: TTL })
    await (await lock.acquire()).release()
    await servers[0]?.pause()
    const frozen = servers.slice(0, 3)
    try {
      const held: Held = await lock.acquire({ wait: 0 })
      await held.release()
      await Promise.all(frozen.map((server) => server.pause()))
      await expect(lock.tryAcquire()).rejects.toBeInstanceOf(QuorumImpossibleError)
    } finally {
      for (const server of frozen) server.resume()
    }
    await waitFor(async () => (await nodesWith('frozen')) === 0, {
      what: 'no key to be left',
      within: 2 * TTL,
    })
    await (await lock.acquire()).release()
  })

  test('with reopenDelay a server that comes back grants nothing, by its own clock, until old leases are over', async () => {
    const [server] = servers as [RedisServer]
    await server.restart({ keepData: false })
    const before = performance.now()
    const hf = createHoldfast({ store: redisStore(clientOf(server), { reopenDelay: '2s' }) })
    ends.push(() => hf.close())
    const lock = hf.lock('reopened', { ttl: '2s' })
    await expect(lock.tryAcquire()).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      details: { reason: 'REOPENING' },
    })
    await expect(hf.lock('reopened', { ttl: '3s' }).tryAcquire()).rejects.toThrow(
      /^ttl: 3000 is longer than reopenDelay/,
    )
    const held = await lock.acquire({ wait: '10s' })
    expect(performance.now() - before).toBeGreaterThan(500)
    await held.extend('2s')
    expect((await held.release()).released).toBe(true)
    // Who does not ask for it is granted at once.
    await server.restart({ keepData: false })
    const other = createHoldfast({ store: redisStore(clientOf(server)) })
    ends.push(() => other.close())
    await (await other.lock('reopened').acquire()).release()
  })

  test('B5: the same server under two addresses is refused at first use', async () => {
    const [a, b] = servers as [RedisServer, RedisServer]
    const alias = new Redis({ host: 'localhost', port: a.port, family: 4 })
    ends.push(() => alias.disconnect())
    const twice = createHoldfast({
      // The nodes are asked who they are for half of this; a grant of those that told by then is as good as any.
      store: quorumStore([redisStore(clientOf(a)), redisStore(alias), redisStore(clientOf(b))], {
        nodeBudget: '8s',
      }),
    })
    ends.push(() => twice.close())
    await expect(twice.lock('x').acquire()).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      option: 'stores',
    })
    await expect(twice.lock('x').tryAcquire()).rejects.toThrow(/nodes 0 and 1.*are one server/)
    expect(await nodesWith('x')).toBe(0)
  })
})
