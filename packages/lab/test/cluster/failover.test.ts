import { fixedWindow } from 'holdfast'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SLOTS, slotOf } from '../../../holdfast/src/stores/redis/cluster/slot.ts'
import { clientFamilies, clientKinds } from '../../src/clients.ts'
import { sleep, startCluster, waitFor, type RedisCluster, type RedisServer } from '../../src/index.ts'
import { ClusterScene } from './scene.ts'

/**
 * Goal: when a primary dies or is replaced, what it had passed on is held as before, fences rise, and the names of the other
 * nodes notice nothing.
 * Method: a real cluster, each primary with a replica; primaries are replaced, killed and stopped.
 */

let cluster: RedisCluster
let scene: ClusterScene

beforeEach(async () => {
  cluster = await startCluster({ nodeTimeout: 500 })
})
afterEach(async () => {
  for (const node of cluster.nodes) node.resume()
  await scene.end()
  await cluster.stop()
})

/** The primary that a fresh cluster gives a name to: the slots are shared evenly, in the order of the nodes. */
function homeOf(name: string): RedisServer {
  const third = [2, 1, 0].find((i) => Math.floor((i * SLOTS) / 3) <= slotOf(scene.key(name))) ?? 0
  return cluster.nodes[third] as RedisServer
}

describe.each(clientKinds)('over %s', (kind) => {
  test('a replica takes over in good order while locks are held and waited for', async () => {
    scene = new ClusterScene(cluster, kind)
    const hf = await scene.holdfast()
    const other = await scene.holdfast()
    const held = await hf.lock('a', { ttl: 3_000 }).acquire()
    const waiting = other.lock('a', { wait: '20s' }).acquire()
    const { owner } = await scene.place('a')
    const [replica] = (await cluster.replicasOf(owner)) as [RedisServer]
    await cluster.failover(replica)
    await sleep(1_500)
    expect(held.lost).toBeNull()
    expect(await scene.value('a')).toBe(`${held.owner}#${held.fence}`)
    expect(await held.release()).toMatchObject({ released: true })
    const next = await waiting
    expect(next.fence).toBeGreaterThan(held.fence)
    await next.release()
  })

  test('a primary is killed while locks are held and waited for: its successor goes on', async () => {
    scene = new ClusterScene(cluster, kind)
    const hf = await scene.holdfast()
    const other = await scene.holdfast()
    const held = await hf.lock('a', { ttl: '15s' }).acquire()
    const limiter = hf.limiter('api', fixedWindow({ limit: 3, per: '1h' }), { budget: '10s' })
    await limiter.take('u')
    const waiting = other.lock('a', { wait: '30s' }).acquire()
    const { owner } = await scene.place('a')
    const [replica] = (await cluster.replicasOf(owner)) as [RedisServer]
    // So that what was answered has reached the replica.
    await sleep(300)
    await owner.kill()
    await cluster.untilPrimary(replica)
    await held.extend('20s')
    expect(held.lost).toBeNull()
    expect(await scene.value('a')).toBe(`${held.owner}#${held.fence}`)
    expect(await held.release()).toMatchObject({ released: true })
    const next = await waiting
    expect(next.fence).toBeGreaterThan(held.fence)
    await next.release()
    const { remaining } = await limiter.take('u')
    expect(remaining).toBe(1)
  })
})

describe.each(clientFamilies)('over %s', (kind) => {
  test('a primary stands still, with its connections open: its successor is found all the same', async () => {
    scene = new ClusterScene(cluster, kind)
    const hf = await scene.holdfast()
    await hf.lock('a').run(() => 1)
    const { owner } = await scene.place('a')
    const [replica] = (await cluster.replicasOf(owner)) as [RedisServer]
    await sleep(300)
    await owner.pause()
    const held = await hf.lock('a', { wait: '20s' }).acquire()
    expect((await replica.info('replication'))['role']).toBe('master')
    expect(await replica.command('GET', scene.key('a'))).toBe(`${held.owner}#${held.fence}`)
    owner.resume()
    await held.release()
  })

  test('a failover that loses the grant: the next one has a higher fence all the same', async () => {
    scene = new ClusterScene(cluster, kind)
    const hf = await scene.holdfast()
    const other = await scene.holdfast()
    await hf.lock('a').run(() => 1)
    await other.lock('a').run(() => 1)
    const { owner } = await scene.place('a')
    const [replica] = (await cluster.replicasOf(owner)) as [RedisServer]
    // The replica stands still while the lock is granted, and the primary dies with what it has not passed on.
    await replica.command('CONFIG', 'SET', 'cluster-replica-validity-factor', '0')
    await replica.pause()
    await owner.command('CLIENT', 'KILL', 'TYPE', 'replica')
    const lost = await hf.lock('a').acquire()
    await owner.kill()
    replica.resume()
    await cluster.untilPrimary(replica)
    const next = await other.lock('a', { wait: '20s' }).acquire()
    expect(next.fence).toBeGreaterThan(lost.fence)
    await lost.release().catch(() => undefined)
    await next.release()
  })

  test('C8: one node stands still: two thousand locks on the others keep more than a third of their ttl', async () => {
    scene = new ClusterScene(cluster, kind)
    const hf = await scene.holdfast({ budget: '10s' })
    const slow = homeOf('stalled')
    expect(slow).toBe((await scene.place('stalled')).owner)
    for (const node of cluster.nodes) await node.command('CONFIG', 'SET', 'cluster-node-timeout', '60000')
    const names: string[] = []
    for (let i = 0; names.length < 2_000; i += 1) if (homeOf(`n${i}`) !== slow) names.push(`n${i}`)
    const stalled = await hf.lock('stalled', { ttl: '60s' }).acquire()
    // Two seconds of a ttl of four and a half; longer both, so that also a busy machine renews in time.
    const [ttl, standstill] = [15_000, 6_700]
    const held = await Promise.all(names.map((name) => hf.lock(name, { ttl }).acquire()))
    const shortest = () => Math.min(...held.map((hold) => hold.remaining()))
    // Just before they are renewed: who is held up by the node that stands still loses them.
    await waitFor(() => shortest() < (2 * ttl) / 3 + 500, { what: 'the renewals to be near', within: ttl })
    await slow.pause()
    const pausedAt = performance.now()
    const last = held.map((hold) => hold.remaining())
    const renewed = new Set<number>()
    let least = Infinity
    const watched = () => {
      for (const [i, hold] of held.entries()) {
        const left = hold.remaining()
        if (left > (last[i] as number)) renewed.add(i)
        last[i] = left
        least = Math.min(least, left)
      }
      return true
    }
    await waitFor(() => watched() && renewed.size === held.length, {
      what: 'all of the others to be renewed while the node stands still',
      within: ttl,
    })
    await waitFor(() => watched() && performance.now() - pausedAt >= standstill, {
      what: 'the standstill to be over',
      within: ttl,
    })
    expect(least).toBeGreaterThan(ttl / 3)
    slow.resume()
    expect(held.filter((hold) => hold.lost !== null)).toEqual([])
    expect(stalled.lost).toBeNull()
    await Promise.all([stalled, ...held].map((hold) => hold.release()))
  })
})
