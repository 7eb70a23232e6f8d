import { LockTimeoutError } from 'holdfast'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientFamilies } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { CountingClock } from '../support/counting-clock.ts'
import { Scene } from '../support/scene.ts'
import { settle, SLACK_MS } from '../support/settling.ts'

/**
 * Goal: a call whose wait ran out is really over.
 * Method: another process holds the lock. The clock that is handed in knows every timer of the library, the proxy every
 * command.
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
  test('A7: two seconds after the wait ran out: no key of ours, no timer, no command', async () => {
    const clock = new CountingClock()
    scene = await Scene.open(server, { kind, clock })
    const theirs = await (await scene.another()).lock('a', { ttl: '1m', renew: false }).acquire()
    const waits = await Promise.all([1, 2, 3].map(() => settle(scene.hf.lock('a', { wait: WAIT }).acquire())))
    for (const { ms, error } of waits) {
      expect(error).toBeInstanceOf(LockTimeoutError)
      expect(error).toMatchObject({ holder: theirs.owner })
      expect(ms).toBeGreaterThan(WAIT - 5)
      expect(ms).toBeLessThan(WAIT + SLACK_MS)
    }
    // What is tidied up in the background is soon over; from then on nothing is sent.
    await waitFor(async () => (await scene.keys()).length === 1, { what: 'our place in the queue to go' })
    await waitFor(() => scene.proxy.connections.every(({ subscribed }) => !subscribed), {
      what: 'the subscription to end',
      within: 2_000,
    })
    expect(clock.pendingTimers).toBe(0)
    scene.proxy.resetCounts()
    await sleep(2_000)
    expect(scene.proxy.log.map(({ command }) => command.slice(0, 2))).toEqual([])
    expect(clock.pendingTimers).toBe(0)
    expect(await scene.keys()).toEqual([scene.key('a')])
    expect(await scene.owner('a')).toBe(theirs.owner)
  })
})

test('A7: the wait ran out without an answer: the same, once the server is back', async () => {
  const clock = new CountingClock()
  scene = await Scene.open(server, { clock })
  await scene.warmUp()
  await server.pause()
  const { ms, error } = await settle(scene.hf.lock('a', { wait: WAIT }).acquire())
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
  expect(ms).toBeLessThan(WAIT + scene.budget + SLACK_MS)
  server.resume()
  await waitFor(() => clock.pendingTimers === 0, { what: 'the last timer to go' })
  scene.proxy.resetCounts()
  await sleep(2_000)
  expect(scene.proxy.log).toEqual([])
  expect(await scene.keys()).toEqual([])
})
