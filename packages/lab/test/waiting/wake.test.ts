import type { Held } from 'holdfast'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { isAcquire } from '../support/scripts.ts'

/**
 * Goal: a waiter gets in soon after the lock is free, whatever becomes of its wake-up: by the wake-up itself, by asking again
 * when its subscription begins, or by its poll.
 * Method: a holder with a straight way to the server, a waiter behind the proxy, whose subscription is held up, cut, or
 * forbidden.
 */

/** Ten times the slack of 50 ms, on a machine that others use too. */
const SOON_MS = 500
/** The longest poll is 1 250 ms. */
const POLL_MS = 1_250 + SOON_MS

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(async () => {
  await server.allowEverything()
  await scene.end()
})

const now = () => performance.now()

/** Opens a scene whose server knows the scripts; tells how often the waiter's process is subscribed to its wake-ups. */
async function open(options: Parameters<typeof Scene.open>[1] = {}) {
  scene = await Scene.open(server, options)
  await scene.warmUp()
  const owner = await scene.holdBriefly('whoever')
  const channel = `${scene.prefix}:wake:${owner.slice(0, 14)}`
  scene.proxy.resetCounts()
  const other = await scene.another()
  const subscriptions = async () =>
    ((await server.command('PUBSUB', 'NUMSUB', channel)) as [string, number])[1]
  const subscribed = (count = 1) =>
    waitFor(async () => (await subscriptions()) === count, { what: `${count} subscriptions`, within: 10_000 })
  return { other, subscriptions, subscribed }
}

const resetSubscriptions = () => {
  for (const connection of scene.proxy.connections) if (connection.subscribed) connection.reset()
}

/** Catches the first command of the next new connection, which will be the subscription's. */
function holdNextConnection() {
  const known = new Set(scene.proxy.connections.map(({ id }) => id))
  return scene.proxy.holdRequest(({ connection }) => !known.has(connection))
}

const queueLength = async (name = 'a') =>
  (await server.command('ZCARD', `${scene.prefix}:{${name}}:queue`)) as number
const asks = () =>
  scene.proxy.log.filter(({ command: [name = '', ...args] }) => isAcquire({ name, args })).length

/** Waits for the lock `a`, and notes when it has it. */
function waiting(name = 'a') {
  const seen: { held: Held | null; at: number; error: unknown } = { held: null, at: 0, error: null }
  const done = scene.hf
    .lock(name, { wait: 30_000 })
    .acquire()
    .then(
      (held) => Object.assign(seen, { held, at: now() }),
      (error: unknown) => Object.assign(seen, { error, at: now() }),
    )
  return Object.assign(seen, { done })
}

describe.each(clientKinds)('%s', (kind) => {
  test('is woken by the release, long before its poll', async () => {
    const { other, subscribed } = await open({ kind })
    // Several rounds, so that no poll can be the cause each time, nor come along.
    const asked: number[] = []
    for (let round = 0; round < 5; round += 1) {
      const holder = await other.lock('a').acquire()
      const waiter = waiting()
      await subscribed()
      await waitFor(async () => (await queueLength()) > 0, { what: 'a place in the queue' })
      await sleep(50)
      const before = asks()
      const releasedAt = now()
      await holder.release()
      await waiter.done
      expect(waiter.error).toBeNull()
      expect(waiter.at - releasedAt).toBeLessThan(SOON_MS)
      asked.push(asks() - before)
      await waiter.held?.release()
    }
    expect(Math.min(...asked)).toBe(1)
  })

  test('D3: the lock is released between the first try and the moment the subscription is active', async () => {
    const { other, subscriptions } = await open({ kind })
    const holder = await other.lock('a').acquire()
    const request = holdNextConnection()
    const waiter = waiting()
    await request.held
    expect(await subscriptions()).toBe(0)
    await holder.release()
    const deliveredAt = now()
    await request.deliver()
    await waiter.done
    expect(waiter.error).toBeNull()
    expect(waiter.at - deliveredAt).toBeLessThan(SOON_MS)
    await waiter.held?.release()
  })

  test('D3: the connection of the subscription drops, and the lock is released before there is another', async () => {
    const { other, subscribed } = await open({ kind })
    const holder = await other.lock('a').acquire()
    const waiter = waiting()
    await subscribed()
    await scene.proxy.refuse()
    resetSubscriptions()
    await subscribed(0)
    const releasedAt = now()
    await holder.release()
    await sleep(20)
    await scene.proxy.accept()
    await waiter.done
    expect(waiter.error).toBeNull()
    // By the next subscription, or by the poll, whichever comes first.
    expect(waiter.at - releasedAt).toBeLessThan(POLL_MS)
    await waiter.held?.release()
  })

  test('D3: a subscription that was cut off comes back by itself, also when it never began', async () => {
    const { other, subscribed } = await open({ kind })
    const holder = await other.lock('a').acquire()
    // Answers take a while, so that the connection can be cut between SUBSCRIBE and its confirmation.
    scene.proxy.toClient.delay(60)
    const waiter = waiting()
    for (let cuts = 0; cuts < 2; cuts += 1) {
      await waitFor(() => scene.proxy.connections.some((connection) => connection.subscribed), {
        what: 'SUBSCRIBE on its way',
        within: 10_000,
        every: 1,
      })
      resetSubscriptions()
    }
    scene.proxy.toClient.pass()
    await subscribed()
    for (let round = 0; round < 3; round += 1) {
      resetSubscriptions()
      await sleep(20)
      await subscribed()
    }
    expect(waiter.at).toBe(0)
    const releasedAt = now()
    await holder.release()
    await waiter.done
    expect(waiter.error).toBeNull()
    expect(waiter.at - releasedAt).toBeLessThan(SOON_MS)
    await waiter.held?.release()
  })

  test('D3: a lost wake-up costs a poll', async () => {
    const { other, subscribed } = await open({ kind })
    const holder = await other.lock('a').acquire()
    const waiter = waiting()
    await subscribed()
    // What the server pushes is swallowed; the connection looks alive.
    for (const connection of scene.proxy.connections) if (connection.subscribed) connection.toClient.drop()
    const releasedAt = now()
    await holder.release()
    await waiter.done
    expect(waiter.error).toBeNull()
    expect(waiter.at - releasedAt).toBeLessThan(POLL_MS)
    await waiter.held?.release()
  })

  test('D3: where the ACL forbids the channels it works by polling, and nothing is told as lost', async () => {
    const { other, subscriptions } = await open({ kind })
    await server.command('ACL', 'SETUSER', 'default', 'resetchannels')
    await sleep(20)
    for (let round = 0; round < 2; round += 1) {
      const holder = await other.lock('a', { ttl: 600 }).acquire()
      const waiter = waiting()
      await sleep(300)
      expect(await subscriptions()).toBe(0)
      holder.assertHeld()
      const releasedAt = now()
      expect(await holder.release()).toEqual({ released: true, confirmed: true })
      await waiter.done
      expect(waiter.error).toBeNull()
      expect(waiter.at - releasedAt).toBeLessThan(POLL_MS)
      await waiter.held?.release()
    }
  })

  test('D3: a right to the channels that is given later is found out, without a new connection', async () => {
    const { other, subscribed, subscriptions } = await open({ kind })
    await server.command('ACL', 'SETUSER', 'default', 'resetchannels')
    const holder = await other.lock('a', { ttl: '1m' }).acquire()
    const waiter = waiting()
    // It has asked, found the lock busy, and wanted to be woken.
    await sleep(300)
    expect(await subscriptions()).toBe(0)
    await server.command('ACL', 'SETUSER', 'default', 'allchannels')
    await subscribed()
    await holder.release()
    await waiter.done
    expect(waiter.error).toBeNull()
    await waiter.held?.release()
  })
})

describe('whatever client', () => {
  test('D4: an operator deletes the key, and nothing is published: in within about a second', async () => {
    const { other, subscribed } = await open()
    await other.lock('a', { ttl: '1m' }).acquire()
    const waiter = waiting()
    await subscribed()
    await sleep(500)
    const deletedAt = now()
    await server.command('DEL', scene.key('a'))
    await waiter.done
    expect(waiter.error).toBeNull()
    expect(waiter.at - deletedAt).toBeLessThan(POLL_MS)
    await waiter.held?.release()
  })

  test('D7: its queue entry vanishes: it joins anew, is told nothing wrong, and is woken as before', async () => {
    const { other, subscribed } = await open()
    const holder = await other.lock('a', { ttl: '1m' }).acquire()
    const waiter = waiting()
    await subscribed()
    for (const how of ['the whole queue', 'its members'] as const) {
      await waitFor(async () => (await queueLength()) === 2, { what: 'its two members in the queue' })
      const queue = `${scene.prefix}:{a}:queue`
      if (how === 'the whole queue') await server.command('DEL', queue)
      else
        for (const member of (await server.command('ZRANGE', queue, 0, -1)) as string[])
          await server.command('ZREM', queue, member)
      expect(await queueLength()).toBe(0)
      await waitFor(async () => (await queueLength()) === 2, {
        what: 'it to join anew',
        within: POLL_MS + 2_000,
      })
      expect(waiter).toMatchObject({ held: null, error: null })
    }
    const releasedAt = now()
    await holder.release()
    await waiter.done
    expect(waiter.at - releasedAt).toBeLessThan(SOON_MS)
    expect(await queueLength()).toBe(0)
    await waiter.held?.release()
  })

  test('a release wakes no waiter of its own process over the server: the next in line goes on by itself', async () => {
    const { subscribed } = await open()
    const holder = await scene.hf.lock('a').acquire()
    const first = waiting()
    const second = waiting()
    await subscribed()
    await waitFor(async () => (await queueLength()) > 0, { what: 'a place in the queue' })
    const published = async () =>
      /cmdstat_publish:calls=(\d+)/.exec((await server.command('INFO', 'commandstats')) as string)?.[1] ?? '0'
    const before = await published()
    const releasedAt = now()
    await holder.release()
    await first.done
    await first.held?.release()
    await second.done
    expect(second.error).toBeNull()
    expect(second.at - releasedAt).toBeLessThan(SOON_MS)
    expect(await published()).toBe(before)
    await second.held?.release()
    expect(await scene.keys()).toEqual([])
  })

  test('a wake-up that comes while an ask is in flight is not lost', async () => {
    const { other, subscribed } = await open()
    const holder = await other.lock('a').acquire()
    const waiter = waiting()
    await subscribed()
    // The answer "busy" to its poll is on its way for a while; meanwhile the lock is released.
    const delayed = scene.proxy.delayReplyOf(isAcquire, 250)
    await waitFor(async () => asks() >= 2, { what: 'its poll', within: 5_000 })
    await sleep(50)
    const releasedAt = now()
    await holder.release()
    await waiter.done
    expect(delayed.count).toBe(1)
    expect(waiter.at - releasedAt).toBeLessThan(250 + SOON_MS)
    await waiter.held?.release()
  })

  test('while the server is frozen a wait ends within wait and budget, and leaves nothing behind', async () => {
    const { other } = await open({ budget: 600 })
    const holder = await other.lock('a', { ttl: '1m' }).acquire()
    await server.pause()
    const began = now()
    const waits = [0, 300, 900].map(async (wait) => {
      const error: unknown = await scene.hf
        .lock(`b${wait}`, { wait })
        .acquire()
        .catch((thrown: unknown) => thrown)
      return { wait, error, ms: now() - began }
    })
    for (const { wait, error, ms } of await Promise.all(waits)) {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(ms).toBeGreaterThanOrEqual(wait - 5)
      expect(ms).toBeLessThan(wait + 600 + 100 + SOON_MS)
    }
    server.resume()
    await waitFor(async () => (await scene.keys()).length === 1, {
      what: 'only the holder’s key left',
      within: 10_000,
    })
    await holder.release()
  })

  test('the subscription ends when nobody has waited for a while, and at once when the instance is closed', async () => {
    const { other, subscribed } = await open()
    const holder = await other.lock('a').acquire()
    const waiter = waiting()
    await subscribed()
    await holder.release()
    await waiter.done
    await waiter.held?.release()
    await subscribed(0)
    const again = await other.lock('a', { ttl: '1m' }).acquire()
    const second = waiting()
    await subscribed()
    await scene.hf.close()
    await waitFor(() => second.error !== null, { what: 'ClosedError' })
    expect(second.error).toMatchObject({ code: 'CLOSED' })
    await subscribed(0)
    await waitFor(async () => (await queueLength()) === 0, { what: 'no queue entry', within: 1_000 })
    await again.release()
  })
})
