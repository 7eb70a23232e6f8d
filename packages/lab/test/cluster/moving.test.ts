import { fixedWindow } from 'holdfast'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, startCluster, waitFor, type RedisCluster } from '../../src/index.ts'
import { ClusterScene } from './scene.ts'

/**
 * Goal: a slot that moves from one node to another takes locks, limits and outcomes with it: nothing is lost, nobody is let in
 * twice, fences rise. (Fault 39 of the list.)
 * Method: a real cluster of three primaries, whose slots are moved in one go or in steps.
 */

let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startCluster({ replicas: 0 })
})
afterAll(() => cluster.stop())

describe.each(clientKinds)('over %s, a slot moves', (kind) => {
  let scene: ClusterScene
  beforeEach(() => {
    scene = new ClusterScene(cluster, kind)
  })
  afterEach(() => scene.end())

  test('while its lock is held: it is renewed and released, and the next fence is higher', async () => {
    const hf = await scene.holdfast()
    const held = await hf.lock('a', { ttl: 3_000 }).acquire()
    const { slot, other } = await scene.place('a')
    await cluster.moveSlot(slot, other)
    // The first may have been on its way when the slot moved.
    for (const what of ['a renewal', 'a further renewal']) {
      const end = performance.now() + held.remaining()
      await waitFor(() => performance.now() + held.remaining() > end + 300, { what })
    }
    expect(held.lost).toBeNull()
    expect(await scene.left('a')).toBeGreaterThan(0)
    expect(await scene.value('a')).toBe(`${held.owner}#${held.fence}`)
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    const next = await hf.lock('a').acquire()
    expect(next.fence).toBeGreaterThan(held.fence)
    await next.release()
  })

  test('while somebody waits: woken by the release, on the new node', async () => {
    const hf = await scene.holdfast()
    const other = await scene.holdfast()
    const held = await hf.lock('b').acquire()
    let acquired = 0
    const waiting = other
      .lock('b', { wait: '20s' })
      .acquire()
      .then((hold) => {
        acquired = performance.now()
        return hold
      })
    await waitFor(async () => (await hf.inspect('b'))?.waiters === 1, { what: 'a waiter' })
    const place = await scene.place('b')
    await cluster.moveSlot(place.slot, place.other)
    await sleep(300)
    expect(acquired).toBe(0)
    const released = performance.now()
    await held.release()
    const next = await waiting
    expect(next.fence).toBeGreaterThan(held.fence)
    // A second is the safety poll's; a wake-up takes milliseconds.
    expect(acquired - released).toBeLessThan(2_500)
    await next.release()
  })

  test('slowly: in the midst of it a lock is renewed and released; one that is asked for is granted when it has moved', async () => {
    const hf = await scene.holdfast()
    const held = await hf.lock('c', { ttl: 900 }).acquire()
    const { slot, other } = await scene.place('c')
    const move = await cluster.openSlot(slot, other)
    await sleep(1_200)
    expect(held.lost).toBeNull()
    await move.moveKeys([scene.key('c')])
    await sleep(1_200)
    expect(held.lost).toBeNull()
    await held.extend(5_000)
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    const next = hf.lock('c', { wait: '20s' }).acquire()
    await sleep(300)
    await move.moveKeys()
    await move.finish()
    const hold = await next
    expect(hold.fence).toBeGreaterThan(held.fence)
    await hold.release()
  })

  test('39: and back, while twenty ask in turn: nobody is let in twice, fences rise', async () => {
    const processes = await Promise.all([scene.holdfast(), scene.holdfast(), scene.holdfast()])
    let inside = 0
    let most = 0
    let last = 0n
    let done = 0
    const work = Promise.all(
      processes.map(async (hf) => {
        for (let i = 0; i < 20; i += 1) {
          await hf.lock('d', { wait: '30s' }).run(async (held) => {
            inside += 1
            most = Math.max(most, inside)
            expect(held.fence).toBeGreaterThan(last)
            last = held.fence
            await sleep(5)
            inside -= 1
          })
          done += 1
        }
      }),
    )
    while (done < 50) {
      const { slot, other } = await scene.place('d')
      await cluster.moveSlot(slot, other)
      await sleep(20)
    }
    await work
    expect(most).toBe(1)
  })

  test('39: limits and outcomes move along', async () => {
    const hf = await scene.holdfast()
    const limiter = hf.limiter('api', fixedWindow({ limit: 10, per: '1h' }), { budget: '5s' })
    const payments = hf.idempotency('payments')
    let ran = 0
    const charge = () =>
      payments.run({ key: 'k', scope: 'u' }, {}, () => {
        ran += 1
        return 'paid'
      })
    for (let i = 0; i < 6; i += 1) expect((await limiter.take('u')).allowed).toBe(true)
    await charge()
    for (const key of [`${scene.prefix}:{api|u}:limit`, `${scene.prefix}:{payments|u|k}:once`]) {
      const slot = await cluster.slotOf(key)
      await cluster.moveSlot(slot, await cluster.otherThan(await cluster.ownerOf(slot)))
    }
    const later = []
    for (let i = 0; i < 6; i += 1) later.push((await limiter.take('u')).allowed)
    expect(later).toEqual([true, true, true, true, false, false])
    expect(await charge()).toMatchObject({ value: 'paid', replayed: true })
    expect(ran).toBe(1)
  })

  test('D7: open for longer than the wait: a named error that may be tried again, and nothing is left', async () => {
    const hf = await scene.holdfast({ budget: 300 })
    await hf.lock('e').run(() => 1)
    const { slot, other } = await scene.place('e')
    const move = await cluster.openSlot(slot, other)
    const failed: unknown = await hf
      .lock('e', { wait: 600 })
      .acquire()
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'STORE_REFUSED', retryable: true })
    expect((failed as Error).message).toContain('TRYAGAIN')
    await move.moveKeys()
    await move.finish()
    expect(await hf.lock('e').run(() => 'in')).toBe('in')
  })
})
