import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientFamilies } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { settle, SLACK_MS } from '../support/settling.ts'

/**
 * Goal: every call settles within its bound while the server stands still, and nothing is left of it once the server goes on.
 * Method: SIGSTOP, for less than a wait and for much longer than a budget.
 */

const WAIT = 300

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

describe.each(clientFamilies)('%s', (kind) => {
  test('INV-H1, INV-H2: frozen for 3 s: every call settles within wait and budget, and leaves nothing', async () => {
    scene = await Scene.open(server, { kind })
    const { hf, budget } = scene
    await scene.warmUp()
    const held = await hf.lock('held', { ttl: '30s' }).acquire()
    await server.pause()
    const resumed = sleep(3_000).then(() => server.resume())
    const calls = {
      acquire: { run: () => hf.lock('a', { ttl: '30s' }).acquire({ wait: WAIT }), bound: WAIT + budget },
      'acquire without waiting': { run: () => hf.lock('b').acquire({ wait: 0 }), bound: budget },
      tryAcquire: { run: () => hf.lock('c', { ttl: '30s' }).tryAcquire(), bound: budget },
      run: { run: () => hf.lock('d').run(() => {}, { wait: WAIT }), bound: WAIT + budget },
      extend: { run: () => held.extend('40s'), bound: budget },
      release: { run: () => held.release(), bound: budget },
      inspect: { run: () => hf.inspect('a'), bound: budget },
      // Reads who holds first.
      forceRelease: { run: () => hf.forceRelease('a'), bound: 2 * budget },
    }
    const all = Object.entries(calls).map(async ([name, { run, bound }]) => {
      const { ms, error } = await settle<unknown>(run())
      expect(error, name).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown', retryable: true })
      expect(ms, name).toBeLessThan(bound + SLACK_MS)
    })
    await Promise.all(all)
    expect(held.lost).toBeNull()
    await resumed
    // What the server finds in its sockets now was all called off: too late, or compensated.
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'nothing to be left' })
    const { value, error } = await settle(hf.lock('a').tryAcquire())
    expect(error).toBeNull()
    expect(value?.lost).toBeNull()
    // A call whose outcome is not known can be made again, and then it is known.
    expect(await held.release()).toMatchObject({ released: true })
  })

  test('frozen for 0.5 s: an acquire that waits gets the lock, once', async () => {
    scene = await Scene.open(server, { kind })
    await scene.warmUp()
    await server.pause()
    const resumed = sleep(500).then(() => server.resume())
    const { value: held, error } = await settle(scene.hf.lock('a', { ttl: '30s' }).acquire({ wait: '5s' }))
    await resumed
    expect(error).toBeNull()
    expect(held?.lost).toBeNull()
    expect(await scene.value('a')).toBe(`${held?.owner}#${held?.fence}`)
    await held?.release()
    await waitFor(async () => (await scene.keys()).length === 0, { what: 'nothing to be left' })
  })

  test('frozen for 0.5 s: a lock that is held stays held, and is renewed afterwards', async () => {
    scene = await Scene.open(server, { kind })
    const held = await scene.hf.lock('a', { ttl: 2_000 }).acquire()
    await sleep(400)
    await server.pause()
    await sleep(500)
    server.resume()
    await sleep(2_000)
    expect(held.lost).toBeNull()
    expect(await scene.owner('a')).toBe(held.owner)
    expect(await scene.left('a')).toBeGreaterThan(0)
  })
})
