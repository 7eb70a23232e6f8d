import { createHoldfast, StoreRefusedError, type Holdfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { afterEach, expect, test } from 'vitest'
import { connectClient } from '../../src/clients.ts'
import { startReplicaSet, type RedisServer } from '../../src/index.ts'

/**
 * Goal: a replica that lags is never believed about who holds a lock: what it lacks is not lost, what it still has is not taken, and nothing
 * is released there.
 * Method: an address that leads to a replica for a while, before anybody has promoted it.
 */

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

test('D13, 24: the address leads to a replica that lags, and back', async () => {
  const set = await startReplicaSet({ replicas: 1, links: true })
  ends.push(() => set.stop())
  const [primary, replica] = set.servers as [RedisServer, RedisServer]
  const { client, close } = await connectClient('ioredis', set.door.url)
  const hf: Holdfast = createHoldfast({ store: redisStore(client), budget: 600 })
  ends.push(async () => {
    await hf.close()
    close()
  })
  const earlier = await hf.lock('b', { ttl: '20s' }).acquire()
  const given = await hf.lock('c', { ttl: '20s' }).acquire()
  await set.untilInSync()
  set.links[0]?.toClient.hold()
  const held = await hf.lock('a', { ttl: '20s' }).acquire()
  const fixed = await hf.lock('d', { ttl: '20s', renew: false }).acquire()
  await earlier.release()
  set.door.leadTo(replica)
  // The replica has none of the first two, and still has the third.
  await expect(held.extend('20s')).rejects.toBeInstanceOf(StoreRefusedError)
  await expect(fixed.extend('20s')).rejects.toBeInstanceOf(StoreRefusedError)
  await expect(hf.inspect('a')).rejects.toBeInstanceOf(StoreRefusedError)
  await expect(hf.lock('b').tryAcquire()).rejects.toBeInstanceOf(StoreRefusedError)
  await expect(held.release()).rejects.toBeInstanceOf(StoreRefusedError)
  expect([fixed.lost, given.lost]).toEqual([null, null])
  expect(await primary.command('EXISTS', 'holdfast:v1:{a}:lock')).toBe(1)
  set.door.leadTo(primary)
  await fixed.extend('20s')
  expect(await held.release()).toMatchObject({ released: true })
  expect(await fixed.release()).toMatchObject({ released: true })
  expect(await given.release()).toMatchObject({ released: true })
  const again = await hf.lock('b').tryAcquire()
  expect(again).not.toBeNull()
  await again?.release()
})
