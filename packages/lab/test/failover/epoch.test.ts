import { createHoldfast, listen, type Holdfast, type HoldfastEvents } from 'holdfast'
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import { afterEach, describe, expect, test } from 'vitest'
import { clientFamilies, connectClient, type ClientKind } from '../../src/clients.ts'
import {
  sleep,
  startRedis,
  startReplicaSet,
  waitFor,
  type ReplicaSet,
  type RedisServer,
} from '../../src/index.ts'

/**
 * Goal: a server that answers in place of another is noticed: told, held locks are asked about at once, releases that it may not have got
 * are repeated, and with `reopenDelay` it grants nothing until whatever was forgotten is over.
 * Method: a primary and a replica that is cut off before the primary is killed; the clients follow an address that moves.
 */

const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function startSet(): Promise<ReplicaSet> {
  const set = await startReplicaSet({ replicas: 1, links: true })
  ends.push(() => set.stop())
  return set
}

async function open(
  url: string,
  kind: ClientKind = 'ioredis',
  options: RedisStoreOptions = {},
): Promise<Holdfast> {
  const { client, close } = await connectClient(kind, url)
  const hf = createHoldfast({ store: redisStore(client, options), budget: 600 })
  ends.push(async () => {
    await hf.close()
    close()
  })
  return hf
}

/** Kills the primary, without what the replica did not get, and puts the replica in its place. */
async function failOver(set: ReplicaSet): Promise<RedisServer> {
  const [primary, replica] = set.servers as [RedisServer, RedisServer]
  await set.killPrimary(primary)
  await set.promote(replica)
  return replica
}

describe.each(clientFamilies)('another server answers: %s', (kind) => {
  test('15: it is told, and who holds is told of the loss at once, with renewal and without', async () => {
    const set = await startSet()
    const hf = await open(set.door.url, kind)
    const told: HoldfastEvents['holdfast:store:epoch'][] = []
    ends.push(listen('holdfast:store:epoch', (event) => told.push(event)))
    await (await hf.lock('warm').acquire()).release()
    await set.untilInSync()
    set.links[0]?.toClient.hold()
    const renewed = await hf.lock('renewed', { ttl: '60s' }).acquire()
    const fixed = await hf.lock('fixed', { ttl: '60s', renew: false }).acquire()
    await failOver(set)
    await waitFor(() => renewed.lost !== null && fixed.lost !== null, {
      what: 'both to be told',
      within: 3_000,
    })
    expect([renewed.lost, fixed.lost]).toEqual(['missing', 'missing'])
    expect(told).toHaveLength(1)
    const [event] = told
    expect(event?.server).not.toBe(event?.previous)
    expect(event?.store).toBe('redis')
  })

  test('a release that only the old primary got is repeated on the new one', async () => {
    const set = await startSet()
    const hf = await open(set.door.url, kind)
    const held = await hf.lock('a', { ttl: '60s' }).acquire()
    await set.untilInSync()
    set.links[0]?.toClient.hold()
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    const replica = await failOver(set)
    await waitFor(async () => (await replica.command('EXISTS', 'holdfast:v1:{a}:lock')) === 0, {
      what: 'the lock to be free',
      within: 3_000,
    })
  })
})

describe('reopenDelay', () => {
  const DELAY = { reopenDelay: '2s' } as const

  test('a replica that takes over refuses everybody, also who is new, until what it may have missed is over', async () => {
    const set = await startSet()
    const one = await open(set.door.url, 'ioredis', DELAY)
    await (await one.lock('warm', { ttl: '2s' }).acquire({ wait: '10s' })).release()
    await set.untilInSync()
    set.links[0]?.toClient.hold()
    const held = await one.lock('a', { ttl: '2s' }).acquire()
    // Both have been up for longer than the delay: their uptime tells nothing.
    await sleep(500)
    const replica = await failOver(set)
    const promoted = performance.now()
    const stranger = await open(replica.url, 'redis', DELAY)
    const lock = stranger.lock('a', { ttl: '2s' })
    await expect(lock.tryAcquire()).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      retryable: true,
      details: { reason: 'REOPENING' },
    })
    const next = await lock.acquire({ wait: '10s' })
    expect(performance.now() - promoted).toBeGreaterThan(1_900)
    expect(held.lost).not.toBeNull()
    expect(next.fence).toBeGreaterThan(held.fence)
    // Once open it stays open, and the record has an expiry.
    await (await stranger.lock('b', { ttl: '2s' }).acquire()).release()
    expect(await replica.command('PTTL', 'holdfast:v1:epoch')).toBeGreaterThan(86_400_000)
  })

  test('a replica that was started just before it takes over is not taken for a primary that was restarted', async () => {
    const set = await startSet()
    const [primary, replica] = set.servers as [RedisServer, RedisServer]
    const one = await open(set.door.url, 'ioredis', { reopenDelay: '3s' })
    await (await one.lock('warm', { ttl: '3s' }).acquire({ wait: '10s' })).release()
    await set.rejoin(replica)
    const uptime = async (): Promise<number> => Number((await replica.info('server')).uptime_in_seconds)
    // It would open three seconds after its start; a lease that it never got may end three seconds after its promotion.
    await waitFor(async () => (await uptime()) >= 2, { what: 'the replica to have been up for a while' })
    await set.untilInSync()
    set.links[0]?.toClient.hold()
    const held = await one.lock('a', { ttl: '3s', renew: false }).acquire()
    const ends = performance.now() + held.remaining()
    await set.killPrimary(primary)
    await set.promote(replica)
    const stranger = await open(replica.url, 'redis', { reopenDelay: '3s' })
    const next = await stranger.lock('a', { ttl: '3s' }).acquire({ wait: '10s' })
    expect(performance.now()).toBeGreaterThan(ends)
    expect(next.fence).toBeGreaterThan(held.fence)
  })

  test('a primary that was a replica for a moment is another one when it takes over again', async () => {
    const set = await startSet()
    const [first, second] = set.servers as [RedisServer, RedisServer]
    const one = await open(first.url, 'ioredis', DELAY)
    await (await one.lock('warm', { ttl: '2s' }).acquire({ wait: '10s' })).release()
    await set.untilInSync()
    set.links[0]?.toClient.hold()
    const held = await one.lock('a', { ttl: '2s', renew: false }).acquire()
    const ends = performance.now() + held.remaining()
    // Nobody is granted anything by the second one, so that what it has on record is still of the first.
    await second.command('REPLICAOF', 'NO', 'ONE')
    await first.command('REPLICAOF', second.host, second.port)
    await waitFor(async () => (await first.info('replication')).master_link_status === 'up', {
      what: 'the first to follow the second',
      within: 20_000,
    })
    await first.command('REPLICAOF', 'NO', 'ONE')
    expect(await first.command('EXISTS', 'holdfast:v1:{a}:lock')).toBe(0)
    const stranger = await open(first.url, 'redis', DELAY)
    const next = await stranger.lock('a', { ttl: '2s' }).acquire({ wait: '10s' })
    expect(performance.now()).toBeGreaterThan(ends)
    expect(next.fence).toBeGreaterThan(held.fence)
  })

  test('12: a server that was started anew reads its uptime; another delay than the one on record is refused', async () => {
    const server = await startRedis({ appendonly: true })
    ends.push(() => server.stop())
    const one = await open(server.url, 'ioredis', DELAY)
    await (await one.lock('a', { ttl: '2s' }).acquire({ wait: '10s' })).release()
    const other = await open(server.url, 'redis', { reopenDelay: '3s' })
    await expect(other.lock('a', { ttl: '2s' }).tryAcquire()).rejects.toThrow(
      /REOPENDELAY the server has 2000 ms on record, and this process says 3000 ms.*same reopenDelay in every process/,
    )
    for (const keepData of [true, false]) {
      await server.restart({ keepData, how: 'kill' })
      await expect(one.lock('a', { ttl: '2s' }).tryAcquire()).rejects.toThrow(/REOPENING/)
      await (await one.lock('a', { ttl: '2s' }).acquire({ wait: '10s' })).release()
    }
  })

  test('17: a flush goes unseen', async () => {
    const server = await startRedis()
    ends.push(() => server.stop())
    const one = await open(server.url, 'ioredis', DELAY)
    await one.lock('a', { ttl: '2s' }).acquire({ wait: '10s' })
    await server.command('FLUSHALL')
    const two = await open(server.url, 'redis', DELAY)
    expect(await two.lock('a', { ttl: '2s' }).tryAcquire()).not.toBeNull()
  })
})
