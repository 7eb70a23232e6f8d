import type { Holdfast } from 'holdfast'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientFamilies, clientKinds } from '../../src/clients.ts'
import { sleep, startCluster, waitFor, type RedisCluster } from '../../src/index.ts'
import { channelsOf, ClusterScene } from './scene.ts'

/**
 * Goal: who waits is woken by the sharded channel of the name, at the node that has it; where that is not heard, by the channel of
 * its process, which the nodes pass on. No subscription stays.
 * Method: real clusters, one of them without sharded pub/sub as before Redis 7; what its nodes counted.
 */

/** Less than the poll that would find it, were nobody woken; in milliseconds. */
const PUSHED = 750

/** How often the nodes ran a command. */
async function counted(cluster: RedisCluster, command: string): Promise<number> {
  let calls = 0
  for (const node of cluster.nodes) {
    const stats = await node.info('commandstats')
    calls += Number(/calls=(\d+)/.exec(stats[`cmdstat_${command}`] ?? '')?.[1] ?? 0)
  }
  return calls
}

/** Milliseconds from the release of a lock that another process waits for until that has it. */
async function handOver(scene: ClusterScene, name: string, one: Holdfast, two: Holdfast): Promise<number> {
  const held = await one.lock(name).acquire()
  const waiting = two.lock(name, { wait: '20s' }).acquire()
  await waitFor(async () => (await one.inspect(name))?.waiters === 1, { what: 'a waiter' })
  await waitFor(async () => (await channelsOf(scene.cluster, scene.prefix)).length > 0, {
    what: 'a listener',
  })
  // So that it has asked after its subscription began, and sleeps.
  await sleep(150)
  const released = performance.now()
  await held.release()
  const next = await waiting
  const took = performance.now() - released
  expect(next.fence).toBeGreaterThan(held.fence)
  await next.release()
  return took
}

describe('sharded', () => {
  let cluster: RedisCluster
  let scene: ClusterScene
  beforeAll(async () => {
    cluster = await startCluster({ replicas: 0 })
  })
  afterAll(() => cluster.stop())
  afterEach(() => scene.end())

  describe.each(clientKinds)('over %s', (kind) => {
    beforeEach(() => {
      scene = new ClusterScene(cluster, kind)
    })

    test('D3: a release wakes by the channel of the name, and nothing is passed on to other nodes', async () => {
      const [one, two] = [await scene.holdfast(), await scene.holdfast()]
      const before = [await counted(cluster, 'publish'), await counted(cluster, 'spublish')]
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        expect(await handOver(scene, name, one, two)).toBeLessThan(PUSHED)
      }
      const after = [await counted(cluster, 'publish'), await counted(cluster, 'spublish')]
      expect(after.map((count, i) => count - (before[i] ?? 0))).toEqual([0, 5])
    })

    test('a forced release is told to the holder also while others wait, and wakes one of them', async () => {
      const [one, two, three] = [await scene.holdfast(), await scene.holdfast(), await scene.holdfast()]
      const held = await one.lock('f').acquire()
      const lost = new Promise<void>((resolve) => held.signal.addEventListener('abort', () => resolve()))
      const waiting = two.lock('f', { wait: '20s' }).acquire()
      await waitFor(async () => (await channelsOf(cluster, `${scene.prefix}:{f}`)).length > 0, {
        what: 'a waiter that listens',
      })
      await waitFor(async () => (await channelsOf(cluster, `${scene.prefix}:wake`)).length > 1, {
        what: 'a holder that listens',
      })
      await sleep(150)
      const forced = performance.now()
      await three.forceRelease('f')
      await lost
      expect(held.lost).toBe('forced')
      const next = await waiting
      expect(performance.now() - forced).toBeLessThan(PUSHED)
      await next.release()
    })

    test('a slot moves while somebody waits: woken all the same, there and back', async () => {
      const [one, two] = [await scene.holdfast(), await scene.holdfast()]
      const held = await one.lock('m').acquire()
      const waiting = two.lock('m', { wait: '20s' }).acquire()
      await waitFor(async () => (await channelsOf(cluster, `${scene.prefix}:{m}`)).length > 0, {
        what: 'a listener',
      })
      for (let i = 0; i < 2; i += 1) {
        const { slot, other } = await scene.place('m')
        await cluster.moveSlot(slot, other)
      }
      await sleep(150)
      const released = performance.now()
      await held.release()
      const next = await waiting
      expect(performance.now() - released).toBeLessThan(PUSHED)
      await next.release()
    })

    test('D6: three hundred names contended once each: no subscription stays', async () => {
      const options = { budget: '20s' } as const
      const [one, two] = [await scene.holdfast(options), await scene.holdfast(options)]
      const sharded = async () =>
        (await channelsOf(cluster, scene.prefix)).filter((channel) => channel.includes(':free:'))
      const names = Array.from({ length: 300 }, (_, i) => `name-${i}`)
      const held = await Promise.all(names.map((name) => one.lock(name).acquire()))
      const waiting = names.map((name) => two.lock(name, { wait: '90s' }).acquire())
      await waitFor(async () => (await sharded()).length === 300, {
        what: 'all to be listened for',
        within: 40_000,
      })
      await Promise.all(held.map((hold) => hold.release()))
      const next = await Promise.all(waiting)
      await Promise.all(next.map((hold) => hold.release()))
      await waitFor(async () => (await sharded()).length === 0, {
        what: 'the subscriptions to end',
        within: 20_000,
      })
    })
  })
})

describe('without sharded pub/sub, as before Redis 7', () => {
  let cluster: RedisCluster
  let scene: ClusterScene
  beforeAll(async () => {
    cluster = await startCluster({
      replicas: 0,
      config: { 'rename-command': ['SPUBLISH ""', 'SSUBSCRIBE ""'] },
    })
  })
  afterAll(() => cluster.stop())
  afterEach(() => scene.end())

  test.each(clientFamilies)('over %s: a release wakes by the channel of the process', async (kind) => {
    scene = new ClusterScene(cluster, kind)
    const [one, two] = [await scene.holdfast(), await scene.holdfast()]
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      expect(await handOver(scene, name, one, two)).toBeLessThan(PUSHED)
    }
    expect(await counted(cluster, 'publish')).toBeGreaterThanOrEqual(5)
  })
})
