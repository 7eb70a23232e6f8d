import type { Held } from 'holdfast'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: what an operator sees is true, and a lock that is taken by force is taken from the one who was meant, who hears of it
 * at once.
 * Method: a holder and waiters behind the proxy, an operator with a straight way to the server.
 */

/** Long before a holder would find it out by itself, at its next renewal. */
const SOON_MS = 2_000
/** Before a waiter would find it out by itself, at its next poll. */
const WOKEN_MS = 700

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(() => server.command('FLUSHALL'))
afterEach(() => scene.end())

const now = () => performance.now()

/** A lock that is held for long enough that its process listens. */
async function heldAndListening(name = 'a'): Promise<Held> {
  const held = await scene.hf.lock(name, { ttl: '1m' }).acquire()
  await scene.untilListening(held)
  return held
}

/** When the holder was told. */
const toldAt = (held: Held) =>
  new Promise<number>((resolve) => held.signal.addEventListener('abort', () => resolve(now())))

describe.each(clientKinds)('L11: %s', (kind) => {
  beforeEach(async () => {
    scene = await Scene.open(server, { kind })
  })

  test('forceRelease raises the fence, frees the lock and tells the holder at once', async () => {
    const operator = await scene.another()
    const held = await heldAndListening()
    const told = toldAt(held)
    const forcedAt = now()
    const forced = await operator.forceRelease('a', { owner: held.owner })
    expect(forced).toMatchObject({ released: true, holder: held.owner })
    expect(forced.fence).toBeGreaterThan(held.fence)
    expect((await told) - forcedAt).toBeLessThan(SOON_MS)
    expect(held.lost).toBe('forced')
    expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'forced' })
    expect(() => held.assertHeld()).toThrow()
    const next = await operator.lock('a').acquire()
    expect(next.fence).toBeGreaterThan(forced.fence as bigint)
    expect(await held.release()).toEqual({ released: false, reason: 'forced' })
    next.assertHeld()
    expect(await scene.owner('a')).toBe(next.owner)
  })

  test('a run whose lock is taken by force ends with that loss, and with the work’s value', async () => {
    const operator = await scene.another()
    const run = scene.hf.lock('a').run(async (held) => {
      await scene.untilListening(held)
      const told = toldAt(held)
      await operator.forceRelease('a')
      await told
      return 'done'
    })
    await expect(run).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'forced', work: { value: 'done' } })
  })
})

describe('L11: an operator', () => {
  beforeEach(async () => {
    scene = await Scene.open(server)
  })

  test('sees owner, time, fence, lease and waiters', async () => {
    const operator = await scene.another()
    expect(await operator.inspect('a')).toBeNull()
    const [seconds, micros] = (await server.command('TIME')) as [string, string]
    const serverMs = Number(seconds) * 1_000 + Number(micros) / 1_000
    const held = await scene.hf.lock('a', { ttl: '10s' }).acquire()
    const third = await scene.another()
    const waits = [scene.hf, third, third].map((hf) => hf.lock('a').acquire())
    await waitFor(async () => (await operator.inspect('a'))?.waiters === 2, {
      what: 'two processes that wait',
    })
    const info = await operator.inspect('a')
    expect(info).toMatchObject({ owner: held.owner, fence: held.fence, lease: held.owner.slice(0, 22) })
    expect(info?.since).toBe(Number(held.fence) / 1_000)
    expect(info?.since).toBeGreaterThanOrEqual(serverMs)
    expect(info?.since).toBeLessThan(serverMs + SOON_MS)
    expect(info?.remaining).toBeGreaterThan(8_000)
    expect(info?.remaining).toBeLessThanOrEqual(10_000)
    expect(await scene.owner('a')).toBe(held.owner)
    await held.release()
    for (const wait of waits) void wait.then((got) => got.release())
    await Promise.all(waits)
    await waitFor(async () => (await operator.inspect('a')) === null, { what: 'the lock to be free' })
  })

  test('takes a lock that has passed on from nobody', async () => {
    const operator = await scene.another()
    const first = await scene.hf.lock('a').acquire()
    await first.release()
    const second = await scene.hf.lock('a').acquire()
    expect(await operator.forceRelease('a', { owner: first.owner })).toEqual({
      released: false,
      holder: second.owner,
      fence: null,
    })
    await second.extend('1m')
    expect(await operator.forceRelease('b')).toEqual({ released: false, holder: null, fence: null })
    await second.release()
  })

  test('lets the waiters in: the first is woken', async () => {
    const operator = await scene.another()
    const other = await scene.another()
    const held = await heldAndListening()
    const waiting = other.lock('a').acquire()
    await waitFor(async () => (await operator.inspect('a'))?.waiters === 1, { what: 'a waiter' })
    await sleep(200)
    const forcedAt = now()
    await operator.forceRelease('a', { owner: held.owner })
    const next = await waiting
    expect(now() - forcedAt).toBeLessThan(WOKEN_MS)
    expect(next.fence).toBeGreaterThan(held.fence)
    await next.release()
  })

  test('is heard also by a holder whose subscription had been cut before', async () => {
    const operator = await scene.another()
    const held = await heldAndListening()
    for (const connection of scene.proxy.connections) if (connection.subscribed) connection.reset()
    await sleep(100)
    await heldAndListening('b')
    const told = toldAt(held)
    const forcedAt = now()
    await operator.forceRelease('a', { owner: held.owner })
    expect((await told) - forcedAt).toBeLessThan(SOON_MS)
    expect(held.lost).toBe('forced')
  })

  test('where the message is lost, the holder finds the key missing: when it subscribes again, or at its renewal', async () => {
    const operator = await scene.another()
    const held = await scene.hf.lock('a', { ttl: 900 }).acquire()
    await waitFor(() => scene.proxy.connections.some((connection) => connection.subscribed), {
      what: 'the holder to listen',
    })
    for (const connection of scene.proxy.connections) if (connection.subscribed) connection.toClient.drop()
    await operator.forceRelease('a', { owner: held.owner })
    await waitFor(() => held.lost !== null, { what: 'the loss', within: 900 + SOON_MS })
    expect(held.lost).toBe('missing')
  })
})
