import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { isRenew } from '../support/scripts.ts'

/**
 * Goal: a lock is kept while it can be, with few calls, and never brought back once it is gone.
 * Method: a real server behind a proxy that counts the calls, and an operator who takes keys away past the proxy. Exact
 * milliseconds are proved under the virtual clock, beside the source; here the bounds are wide and the conditions strict.
 */

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

/** When renewals were sent, by the proxy's clock. */
function renewals(): number[] {
  return scene.proxy.log
    .filter(({ command: [name = '', ...args] }) => isRenew({ name, args }))
    .map(({ at }) => at)
}

/** The most of these moments that lie within a span of that length. */
function mostWithin(span: number, moments: readonly number[]): number {
  return Math.max(0, ...moments.map((from) => moments.filter((at) => at >= from && at < from + span).length))
}

describe.each(clientKinds)('%s', (kind) => {
  test('C1: released in the very tick of the grant, a thousand times: no renewal, and the key is gone', async () => {
    scene = await Scene.open(server, { kind, budget: 3_000 })
    // Its first renewal would be due after a second, by when a busy machine has answered, too.
    const ttl = 3_000
    const cycles = async (name: string): Promise<void> => {
      for (let round = 0; round < 50; round += 1) {
        const released = await scene.hf
          .lock(name, { ttl })
          .acquire()
          .then((held) => held.release())
        expect(released).toEqual({ released: true, confirmed: true })
      }
    }
    await Promise.all(Array.from({ length: 20 }, (_, i) => cycles(`lock ${i}`)))
    expect(await scene.keys()).toEqual([])
    const before = scene.proxy.commands.total
    await sleep(ttl / 2)
    expect(renewals()).toEqual([])
    expect(scene.proxy.commands.total).toBe(before)
    expect(await scene.keys()).toEqual([])
  })

  test('C5: the first try to renew fails, the next works: still held, no abort', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const held = await scene.hf.lock('a', { ttl: 1_500 }).acquire()
    const { signal } = held
    const failures = [scene.proxy.resetBefore(isRenew), scene.proxy.loseReplyOf(isRenew)]
    await waitFor(() => failures.every(({ count }) => count === 1), { what: 'both failures' })
    const failed = renewals().length
    await waitFor(() => renewals().length > failed + 2, { what: 'renewals that work' })
    expect([held.lost, signal.aborted]).toEqual([null, false])
    expect(await scene.owner('a')).toBe(held.owner)
    expect(await held.release()).toMatchObject({ released: true })
  })
})

test('INV-C1: no key of ours is ever without an expiry: held, renewed, waited for, forced, given back', async () => {
  scene = await Scene.open(server)
  const other = await scene.another()
  const seen = new Set<string>()
  const look = async (): Promise<void> => {
    const keys = (await server.command('KEYS', `${scene.prefix}:*`)) as string[]
    for (const key of keys) {
      seen.add(key)
      expect(await server.command('PTTL', key), key).not.toBe(-1)
    }
  }
  const held = await scene.hf.lock('a', { ttl: 300 }).acquire()
  await look()
  const waiting = other.lock('a').acquire()
  await waitFor(() => renewals().length > 1, { what: 'renewals' })
  await look()
  await held.release()
  await (await waiting).release()
  await scene.hf.lock('a').acquire()
  await other.forceRelease('a')
  await look()
  expect(seen).toEqual(new Set([scene.key('a'), `${scene.prefix}:{a}:queue`, `${scene.prefix}:fence`]))
})

describe('a key that is gone', () => {
  test('C3: vanished: known at the next renewal, which never makes it again', async () => {
    scene = await Scene.open(server)
    const held = await scene.hf.lock('a', { ttl: 900 }).acquire()
    await server.command('DEL', scene.key('a'))
    await waitFor(() => held.signal.aborted, { what: 'the loss', within: 900 })
    expect(held.lost).toBe('missing')
    const known = renewals().length
    await sleep(900)
    expect([await scene.value('a'), renewals().length]).toEqual([null, known])
    expect(await held.release()).toEqual({ released: false, reason: 'missing' })
  })

  test('C3: taken and freed by another: missing, and never made again', async () => {
    scene = await Scene.open(server)
    const held = await scene.hf.lock('a', { ttl: 900 }).acquire()
    await server.command('DEL', scene.key('a'))
    const other = await scene.another()
    await (await other.lock('a').acquire()).release()
    await waitFor(() => held.lost === 'missing', { what: 'the loss', within: 900 })
    await sleep(600)
    expect(await scene.keys()).toEqual([])
  })

  test('C3: emptied and filled by a key of the same owner with another fence: not ours', async () => {
    scene = await Scene.open(server)
    const held = await scene.hf.lock('a', { ttl: 900 }).acquire()
    const forged = `${held.owner}#${held.fence + 1n}`
    await server.command('SET', scene.key('a'), forged, 'PX', 60_000)
    await waitFor(() => held.lost === 'taken', { what: 'the loss', within: 900 })
    expect(await scene.value('a')).toBe(forged)
  })

  test('C6: stolen: known at the next renewal, final, and the thief’s key is left as it is', async () => {
    scene = await Scene.open(server)
    const ttl = 1_500
    const held = await scene.hf.lock('a', { ttl }).acquire()
    await waitFor(() => renewals().length > 0, { what: 'a renewal' })
    const before = renewals().length
    await server.command('SET', scene.key('a'), 'thief', 'PX', 60_000)
    await waitFor(() => held.signal.aborted, { what: 'the loss', within: ttl })
    expect(held.lost).toBe('taken')
    expect(renewals().length).toBe(before + 1)
    await sleep(ttl)
    expect(renewals().length).toBe(before + 1)
    expect(await scene.value('a')).toBe('thief')
    expect(await scene.left('a')).toBeLessThan(60_000)
    expect(await held.release()).toEqual({ released: false, reason: 'taken' })
    expect(await scene.value('a')).toBe('thief')
  })
})

describe('C7: the number of renewals', () => {
  test.each([50, 100, 500, 1_000, 1_250])('at most ten in any %i ms of that ttl', async (ttl) => {
    scene = await Scene.open(server)
    const lock = scene.hf.lock('a', { ttl })
    let held = await lock.acquire()
    const until = performance.now() + Math.max(1_000, 2.5 * ttl)
    const enough = () =>
      performance.now() >= until && (renewals().length >= 4 || performance.now() > until + 30_000)
    for (let silent = false; !enough(); silent = !silent) {
      if (silent) scene.proxy.toClient.hold()
      else scene.proxy.toClient.pass()
      await sleep(ttl / 2)
      // On a busy machine the shortest may be lost: what is counted are the calls.
      if (!silent && held.lost !== null) held = await lock.acquire()
    }
    scene.proxy.toClient.pass()
    expect(renewals().length).toBeGreaterThanOrEqual(4)
    expect(mostWithin(ttl, renewals())).toBeLessThanOrEqual(10)
  })

  test('stays below ten also while the subscription comes and goes', async () => {
    scene = await Scene.open(server)
    const ttl = 1_500
    const held = await scene.hf.lock('a', { ttl }).acquire()
    let drops = 0
    const until = performance.now() + 2 * ttl
    while (performance.now() < until) {
      const subscribers = scene.proxy.connections.filter(({ subscribed }) => subscribed)
      for (const subscriber of subscribers) subscriber.reset()
      drops += subscribers.length
      await sleep(20)
    }
    expect(drops).toBeGreaterThan(10)
    expect(held.lost).toBeNull()
    expect(mostWithin(ttl, renewals())).toBeLessThanOrEqual(10)
  })

  test('of two hundred locks is far fewer than two hundred calls: they travel together', async () => {
    scene = await Scene.open(server)
    const names = Array.from({ length: 200 }, (_, i) => `lock ${i}`)
    await Promise.all(names.map((name) => scene.hf.lock(name, { ttl: 1_500 }).acquire()))
    await waitFor(() => renewals().length > 0, { what: 'the first renewal' })
    const from = renewals()[0] as number
    await sleep(1_500)
    expect(renewals().filter((at) => at < from + 1_500).length).toBeLessThan(40)
  })
})
