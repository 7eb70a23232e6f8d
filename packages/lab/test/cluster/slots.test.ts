import { fixedWindow, slidingWindow } from 'holdfast'
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from 'vitest'
import { slotOf } from '../../../holdfast/src/stores/redis/cluster/slot.ts'
import { clientKinds } from '../../src/clients.ts'
import { startCluster, waitFor, type RedisCluster } from '../../src/index.ts'
import { channelsOf, ClusterScene } from './scene.ts'

/**
 * Goal: on a cluster every call goes to the node that has its slot, with keys of one slot, and what travels together on one server
 * travels together in one slot.
 * Method: a real cluster; what its nodes counted, and what they refused.
 */

let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startCluster({ replicas: 0 })
})
afterAll(() => cluster.stop())

test('slots are computed as the servers do', async () => {
  const keys = ['a', '{a}b', 'a{', '}{', '{}', 'a{}b', 'ä{ö}ü', `{${'x'.repeat(600)}}`]
  for (const key of keys) expect([key, slotOf(key)]).toEqual([key, await cluster.slotOf(key)])
})

/** How many script calls the nodes have run. */
async function scriptCalls(): Promise<number> {
  let calls = 0
  for (const node of cluster.nodes) {
    const stats = await node.info('commandstats')
    for (const name of ['cmdstat_evalsha', 'cmdstat_eval'])
      calls += Number(/calls=(\d+)/.exec(stats[name] ?? '')?.[1] ?? 0)
  }
  return calls
}

describe.each(clientKinds)('over %s', (kind) => {
  let scene: ClusterScene
  beforeEach(() => {
    scene = new ClusterScene(cluster, kind)
  })
  afterEach(() => scene.end())

  test('B9: three hundred names asked for in one turn, in nearly as many slots', async () => {
    // Long for a busy machine: their calls go to the nodes one by one.
    const hf = await scene.holdfast({ budget: '20s' })
    const names = Array.from({ length: 300 }, (_, i) => `name-${i}`)
    const held = await Promise.all(names.map((name) => hf.lock(name).acquire()))
    const owners = new Set(await Promise.all(held.map(async ({ name }) => (await scene.place(name)).owner)))
    expect(owners.size).toBe(3)
    for (const hold of held) expect(await scene.value(hold.name)).toBe(`${hold.owner}#${hold.fence}`)
    await Promise.all(held.map((hold) => hold.extend('1m')))
    const outcomes = await Promise.all(held.map((hold) => hold.release()))
    expect(outcomes.every(({ released }) => released)).toBe(true)
  })

  test.each(['{', '}', '{}', 'a{', '}{a}{', 'a b', 'ä', 'long'])(
    'B9: a hostile name has all its keys in one slot: %s',
    async (text) => {
      const name = text === 'long' ? 'x'.repeat(3_000) : text
      const hf = await scene.holdfast()
      const other = await scene.holdfast()
      const held = await hf.lock(name).acquire()
      const waiting = other.lock(name).acquire()
      await waitFor(async () => (await hf.inspect(name))?.waiters === 1, { what: 'a waiter' })
      const keys = await cluster.keys(`${scene.prefix}:`)
      expect(keys.map((key) => key.split(':').at(-1)).sort()).toEqual(['fence', 'lock', 'queue'])
      expect(new Set(keys.map(slotOf)).size).toBe(1)
      await held.release()
      const second = await waiting
      expect(second.fence).toBeGreaterThan(held.fence)
      await second.release()
    },
  )

  test('B9: an exact key without braces works; one with them is refused by name before anything is taken', async () => {
    const hf = await scene.holdfast()
    const key = `${scene.prefix}-their:lock`
    const held = await hf.lock('theirs', { key }).acquire()
    expect(await cluster.command(key, 'GET', key)).toContain(held.owner)
    await held.release()
    const braced = hf.lock('theirs', { key: `${scene.prefix}:{their}:lock` })
    await expect(braced.acquire()).rejects.toMatchObject({ option: 'key', code: 'INVALID_ARGUMENT' })
    await expect(braced.tryAcquire()).rejects.toThrow(/without \{ and \}/)
    expect(await cluster.keys(`${scene.prefix}:{their}`)).toEqual([])
  })

  test('what is of one slot travels together: many takes of one subject in few calls', async () => {
    const hf = await scene.holdfast()
    const limiter = hf.limiter('api', slidingWindow({ limit: 100, per: '1m' }), { budget: '5s' })
    await limiter.take('warm-up')
    await limiter.take('one')
    const before = await scriptCalls()
    const decisions = await Promise.all(Array.from({ length: 300 }, () => limiter.take('one')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(99)
    expect((await scriptCalls()) - before).toBeLessThan(30)
  })

  test('E25: limits of many subjects are each exact', async () => {
    const hf = await scene.holdfast()
    const limiter = hf.limiter('each', fixedWindow({ limit: 5, per: '1m' }), { budget: '5s' })
    const subjects = Array.from({ length: 40 }, (_, i) => `subject-${i}`)
    const allowed = await Promise.all(
      subjects.map(async (subject) => {
        const taken = await Promise.all(Array.from({ length: 20 }, () => limiter.take(subject)))
        return taken.filter((decision) => decision.allowed).length
      }),
    )
    expect(new Set(allowed)).toEqual(new Set([5]))
  })

  test('F9: fifty parallel runs of one key are one run', async () => {
    const hf = await scene.holdfast()
    const payments = hf.idempotency('payments')
    let ran = 0
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () =>
        payments.run({ key: 'k', scope: 'u' }, { wait: '5s' }, () => (ran += 1)),
      ),
    )
    expect(ran).toBe(1)
    expect(new Set(outcomes.map(({ value }) => value))).toEqual(new Set([1]))
  })

  const kept: readonly RedisStoreOptions[] = [{ acknowledge: { replicas: 1, of: 1 } }, { reopenDelay: '10s' }]
  test.each(kept)('what one server keeps for all of its locks is refused: %o', async (options) => {
    const { client } = await scene.client()
    expect(() => redisStore(client, options)).toThrow(/is not to be had over a cluster/)
  })

  test('E21: SCRIPT FLUSH on every node: each is sent the scripts again', async () => {
    const hf = await scene.holdfast()
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    await Promise.all(names.map((name) => hf.lock(name).run(() => 1)))
    for (const node of cluster.nodes) await node.command('SCRIPT', 'FLUSH')
    const ran = await Promise.all(names.map((name) => hf.lock(name).run(() => 1)))
    expect(ran).toEqual(names.map(() => 1))
  })

  test('wake-ups and forced releases are heard wherever they happen, and no subscription stays', async () => {
    const hf = await scene.holdfast()
    const other = await scene.holdfast()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const held = await hf.lock(name).acquire()
      const waiting = other.lock(name).acquire()
      await waitFor(async () => (await hf.inspect(name))?.waiters === 1, { what: 'a waiter' })
      await waitFor(async () => (await channelsOf(cluster, scene.prefix)).length > 0, { what: 'a listener' })
      await held.release()
      const second = await waiting
      const lost = new Promise<void>((resolve) => second.signal.addEventListener('abort', () => resolve()))
      await waitFor(async () => (await other.inspect(name))?.owner === second.owner, { what: 'the holder' })
      await hf.forceRelease(name)
      await lost
      expect(second.lost).toBe('forced')
    }
    await hf.close()
    await other.close()
    await waitFor(async () => (await channelsOf(cluster, scene.prefix)).length === 0, {
      what: 'the subscriptions to end',
    })
  })
})
