import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { settle, SLACK_MS } from '../support/settling.ts'

/**
 * Goal: a connection that is open on our side only, or works one way only, costs calls their budget and a holder its lock,
 * in time and with the truth told. Once it heals, nothing is left and everything works.
 * Method: the proxy cuts off the server's side and swallows what the client writes, or stops one direction.
 */

const WAIT = 300
const TTL = 1_200

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

/** Every call settles in time, without knowing. */
async function expectUnknown(calls: Record<string, { run: () => Promise<unknown>; bound: number }>) {
  const all = Object.entries(calls).map(async ([name, { run, bound }]) => {
    const { ms, error } = await settle(run())
    expect(error, name).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
    expect(ms, name).toBeLessThan(bound + SLACK_MS)
  })
  await Promise.all(all)
}

async function expectWorks(): Promise<void> {
  const { value: held, ms } = await settle(scene.hf.lock('works').acquire({ wait: '5s' }))
  expect(held?.lost).toBeNull()
  expect(ms).toBeLessThan(SLACK_MS)
  expect(await held?.release()).toMatchObject({ released: true })
}

describe.each(clientKinds)('%s', (kind) => {
  test('fault 33, half-open: acquire, extend, release and renewal settle, and the holder is told in time', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const { hf, budget } = scene
    const renewed = await hf.lock('renewed', { ttl: TTL }).acquire()
    const longer = await hf.lock('longer', { ttl: '30s' }).acquire()
    const released = await hf.lock('released', { ttl: '30s' }).acquire()
    const began = performance.now()
    const told = new Promise<number>((resolve) => {
      renewed.signal.addEventListener('abort', () => resolve(performance.now() - began))
    })
    scene.proxy.halfOpen()
    await expectUnknown({
      acquire: { run: () => hf.lock('a').acquire({ wait: WAIT }), bound: WAIT + budget },
      tryAcquire: { run: () => hf.lock('b').tryAcquire(), bound: budget },
      extend: { run: () => longer.extend('40s'), bound: budget },
      release: { run: () => released.release(), bound: budget },
    })
    expect(longer.lost).toBeNull()
    // The renewal is unanswered at the deadline, and the holder knows it before the server lets another in.
    expect(await told).toBeLessThan(TTL + SLACK_MS / 2)
    expect(renewed.lost).toBe('unreachable')
    expect(longer.lost).toBeNull()

    scene.proxy.resetAll()
    await expectWorks()
    expect(await longer.release()).toMatchObject({ released: true })
    expect(await released.release()).toMatchObject({ released: true })
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'nothing to be left' })
  })

  test('fault 34, one way: requests arrive and replies do not: what was granted is cleared away all the same', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const { hf, budget } = scene
    const held = await hf.lock('held', { ttl: '30s' }).acquire()
    scene.proxy.toClient.hold()
    const acquiring = expectUnknown({
      acquire: { run: () => hf.lock('a', { ttl: '30s' }).acquire({ wait: WAIT }), bound: WAIT + budget },
      tryAcquire: { run: () => hf.lock('b', { ttl: '30s' }).tryAcquire(), bound: budget },
    })
    await waitFor(async () => (await scene.keys()).length === 3, { what: 'both to be granted' })
    await acquiring
    // The compensation needs no answer to be done.
    await waitFor(async () => (await scene.keys()).length === 1, { what: 'their keys to go' })
    const released = expectUnknown({ release: { run: () => held.release(), bound: budget } })
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'the release to be done' })
    await released
    expect(held.lost).toBeNull()

    scene.proxy.toClient.drop()
    scene.proxy.toClient.pass()
    await expectWorks()
    // Done by the first, whose answer was lost.
    expect(await held.release()).toEqual({ released: true, confirmed: false })
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'nothing to be left' })
  })

  test('fault 31, 34, the other way: requests are held up beyond the budget, then they all arrive', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    const { hf, budget } = scene
    scene.proxy.toServer.hold()
    await expectUnknown({
      acquire: { run: () => hf.lock('a', { ttl: '30s' }).acquire({ wait: WAIT }), bound: WAIT + budget },
      tryAcquire: { run: () => hf.lock('b', { ttl: '30s' }).tryAcquire(), bound: budget },
    })
    await sleep(budget)
    let seen = 0
    const looking = setInterval(() => {
      Promise.all(['a', 'b'].map((name) => scene.value(name))).then(
        (values) => {
          seen += values.filter((value) => value !== null).length
        },
        // The last look may still be under way when the test is over.
        () => undefined,
      )
    }, 1)
    scene.proxy.toServer.pass()
    await expectWorks()
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'nothing to be left' })
    await sleep(50)
    clearInterval(looking)
    // Every one of them was beyond its time: the server refused it.
    expect(seen).toBe(0)
  })
})
