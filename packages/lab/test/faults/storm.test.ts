import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientFamilies } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Judged } from '../support/judged.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: a bad network costs time, and no promise.
 * Method: long ways to the server and back, for a lock that lives by renewal; and connections killed and clients paused by
 * the server itself, at random, under two processes that contend.
 */

/** Long, so that what is left of it after a slow renewal is more than a busy machine's stalls. */
const TTL = 6_000

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

describe.each(clientFamilies)('%s', (kind) => {
  test("fault 35: replies after 0.4 ttl and more: a lock stays held, and its deadline is before the server's", async () => {
    scene = await Scene.open(server, { kind, budget: 9_600 })
    await scene.warmUp()
    scene.proxy.toServer.delay(0.2 * TTL, { jitter: 0.05 * TTL })
    scene.proxy.toClient.delay(0.2 * TTL, { jitter: 0.05 * TTL })
    const held = await scene.hf.lock('a', { ttl: TTL }).acquire()
    expect(held.remaining()).toBeLessThan(0.6 * TTL)
    let looks = 0
    for (const end = performance.now() + 2 * TTL; performance.now() < end; looks += 1) {
      const remaining = held.remaining()
      const left = await scene.left('a')
      // While the holder believes, the server keeps it for him.
      if (held.remaining() > 0) expect(left).toBeGreaterThan(0)
      expect(left - remaining).toBeGreaterThan(-50)
      await sleep(20)
    }
    expect(looks).toBeGreaterThan(20)
    expect(held.lost).toBeNull()
    expect(await scene.owner('a')).toBe(held.owner)
  })

  test('fault 36: a storm of CLIENT KILL and CLIENT PAUSE: every promise is kept', async () => {
    scene = await Scene.open(server, { kind, budget: 1_000 })
    const processes = [scene.hf, await scene.another({ viaProxy: true })]
    const judged = new Judged()
    let over = false
    let granted = 0
    const users = processes.map(async (hf) => {
      const about = { name: 'a', ttl: 2_000, wait: 3_000, budget: scene.budget }
      const lock = judged.lock(hf, about)
      while (!over) {
        const hold = await lock.acquire().catch(() => null)
        if (hold === null) continue
        granted += 1
        await sleep(3)
        hold.assertHeld()
        await hold.release().catch(() => {})
      }
    })
    let killed = 0
    // Until there was enough of both, also on a busy machine.
    for (const end = performance.now() + 30_000; performance.now() < end && !(killed > 40 && granted > 40);) {
      killed += Number(await server.command('CLIENT', 'KILL', 'TYPE', 'normal'))
      await server.command('CLIENT', 'PAUSE', '30', 'ALL')
      await sleep(70)
      killed += Number(await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub'))
      await sleep(30)
    }
    over = true
    await Promise.all(users)
    expect(killed).toBeGreaterThan(20)
    expect(granted).toBeGreaterThan(20)
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'no key to be left' })
    const counted = judged.expectRight()
    expect(counted.overlaps.count).toBe(0)
  })
})
