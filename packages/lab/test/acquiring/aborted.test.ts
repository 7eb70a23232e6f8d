import { createHoldfast, listen, type Held, type Holdfast } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { VirtualClock } from 'holdfast/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { CountingClock } from '../support/counting-clock.ts'
import { Scene } from '../support/scene.ts'
import { isAcquire } from '../support/scripts.ts'
import { AT_ONCE_MS, settle } from '../support/settling.ts'

/**
 * Goal: a call that is called off ends at once, and what the server granted meanwhile goes.
 * Method: it is called off before it begins, while it waits, and while its request is in flight. The server is looked at
 * past the proxy.
 */

const WHY = new Error('the user went away')

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

/** Calls off, and tells how long it took until the call had ended and until no key of its was left. */
async function callOff(call: Promise<unknown>, cancel: () => void, name: string) {
  const began = performance.now()
  cancel()
  const { error } = await settle(call)
  const settledAfter = performance.now() - began
  await waitFor(async () => (await scene.value(name)) === null, { what: 'the key to go', every: 1 })
  return { error, settledAfter, goneAfter: performance.now() - began }
}

const calls = [
  ['acquire', (hf: Holdfast, signal: AbortSignal) => hf.lock('a').acquire({ signal })],
  ['tryAcquire', (hf: Holdfast, signal: AbortSignal) => hf.lock('a').tryAcquire({ signal })],
  ['run', (hf: Holdfast, signal: AbortSignal) => hf.lock('a').run(() => {}, { signal })],
] as const

describe.each(clientKinds)('%s', (kind) => {
  afterEach(() => scene.end())

  test.each(calls)('A8: %s with a signal that is aborted already sends nothing', async (_, call) => {
    scene = await Scene.open(server, { kind })
    const { ms, error } = await settle<unknown>(call(scene.hf, AbortSignal.abort(WHY)))
    expect(error).toBe(WHY)
    expect(ms).toBeLessThan(AT_ONCE_MS)
    await sleep(50)
    expect(scene.proxy.commands.total).toBe(0)
  })

  test.each(calls)(
    'A8: %s aborted in flight ends at once, and the key it was granted goes',
    async (_, call) => {
      scene = await Scene.open(server, { kind })
      await scene.warmUp()
      const controller = new AbortController()
      scene.proxy.delayReplyOf(isAcquire, 300)
      let over = false
      const pending: Promise<unknown> = call(scene.hf, controller.signal)
      pending.then(
        () => (over = true),
        () => (over = true),
      )
      await waitFor(async () => (await scene.value('a')) !== null, { what: 'the grant', every: 1 })
      expect(over, 'the answer is still under way').toBe(false)
      const { error, settledAfter, goneAfter } = await callOff(pending, () => controller.abort(WHY), 'a')
      expect(error).toBe(WHY)
      expect(settledAfter).toBeLessThan(AT_ONCE_MS)
      expect(goneAfter).toBeLessThan(10 * AT_ONCE_MS)
      // And it stays away when the answer has come.
      await sleep(400)
      expect(await scene.keys()).toEqual([])
    },
  )

  test('A8: aborted while it waits: ends at once, leaves the queue, asks no more', async () => {
    const clock = new CountingClock()
    scene = await Scene.open(server, { kind, clock })
    const theirs = await (await scene.another()).lock('a', { renew: false }).acquire()
    const controller = new AbortController()
    const pending = scene.hf.lock('a').acquire({ signal: controller.signal, wait: '1m' })
    pending.catch(() => {})
    await waitFor(async () => (await scene.keys()).length === 2, { what: 'it to stand in the queue' })
    const began = performance.now()
    controller.abort(WHY)
    const { error } = await settle(pending)
    expect(error).toBe(WHY)
    expect(performance.now() - began).toBeLessThan(AT_ONCE_MS)
    await waitFor(async () => (await scene.keys()).length === 1, { what: 'it to leave the queue' })
    expect(await theirs.release()).toEqual({ released: true, confirmed: true })
    await waitFor(() => clock.pendingTimers === 0, { what: 'no timer' })
    scene.proxy.resetCounts()
    await sleep(500)
    expect(scene.proxy.log).toEqual([])
    expect(await scene.keys()).toEqual([])
  })

  test('A8: close() rejects who waits and who has asked, and the key that was granted goes', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const theirs = await (await scene.another()).lock('held').acquire()
    const waiting = settle(scene.hf.lock('held').acquire({ wait: '1m' }))
    await waitFor(async () => (await scene.keys()).length === 2, { what: 'it to stand in the queue' })
    scene.proxy.delayReplyOf(isAcquire, 300)
    const asking = scene.hf.lock('a').tryAcquire()
    asking.catch(() => {})
    await waitFor(async () => (await scene.value('a')) !== null, { what: 'the grant', every: 1 })
    let closed: Promise<void> | undefined
    const close = () => {
      closed = scene.hf.close()
    }
    const { error, settledAfter, goneAfter } = await callOff(asking, close, 'a')
    expect(error).toMatchObject({ code: 'CLOSED' })
    expect(settledAfter).toBeLessThan(AT_ONCE_MS)
    expect(goneAfter).toBeLessThan(10 * AT_ONCE_MS)
    expect((await waiting).error).toMatchObject({ code: 'CLOSED' })
    expect((await settle(scene.hf.lock('a').acquire())).error).toMatchObject({ code: 'CLOSED' })
    await closed
    expect(await scene.keys()).toEqual([scene.key('held')])
    expect(await theirs.release()).toEqual({ released: true, confirmed: true })
  })

  test('A8: a client that its owner closes rejects who waits', async () => {
    scene = await Scene.open(server, { kind })
    await (await scene.another()).lock('a').acquire()
    const waits = [1, 2, 3].map(() => settle(scene.hf.lock('a').acquire({ wait: '1m' })))
    await waitFor(() => scene.proxy.connections.some(({ subscribed }) => subscribed), {
      what: 'them to be woken when it is free',
    })
    // Nothing else happens that could make them ask.
    await sleep(200)
    const began = performance.now()
    scene.client.close()
    for (const { error } of await Promise.all(waits)) {
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', option: 'client' })
      expect(error?.message).toContain('is closed')
    }
    expect(performance.now() - began).toBeLessThan(AT_ONCE_MS)
  })
})

describe('on a virtual clock', () => {
  /** Microtasks between a call and the abort; more than a granted call needs to come back. */
  const DEPTHS = Array.from({ length: 60 }, (_, depth) => depth)

  test('A8: aborted in any microtask of a grant: it is either held, or gone', async () => {
    let held = 0
    for (const wait of [0, '5s'] as const) {
      for (const depth of DEPTHS) {
        const clock = new VirtualClock()
        const store = memoryStore()
        const hf = createHoldfast({ store, clock })
        const controller = new AbortController()
        const pending = settle(hf.lock('a').acquire({ wait, signal: controller.signal }))
        for (let i = 0; i < depth; i += 1) await Promise.resolve()
        controller.abort(WHY)
        const { value, error } = await pending
        await clock.advance(2_000)
        const holder = await hf.inspect('a')
        if (error === null) held += 1
        else expect(error).toBe(WHY)
        expect(holder?.owner, `wait ${wait}, depth ${depth}`).toBe(value?.owner)
        await hf.close()
      }
    }
    expect(held).toBeGreaterThan(0)
    expect(held).toBeLessThan(2 * DEPTHS.length)
  })

  test('A8: aborted by the news of another grant of the same turn', async () => {
    const clock = new VirtualClock()
    const hf = createHoldfast({ store: memoryStore(), clock })
    const controller = new AbortController()
    const stop = listen('holdfast:lock:acquired', () => controller.abort(WHY))
    const { signal } = controller
    const all = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => settle<Held>(hf.lock(name).acquire({ signal }))),
    )
    stop()
    await clock.advance(2_000)
    for (const [i, name] of ['a', 'b', 'c', 'd'].entries())
      expect((await hf.inspect(name))?.owner).toBe(all[i]?.value?.owner)
    await hf.close()
  })
})
