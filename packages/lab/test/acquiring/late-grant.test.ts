import { StoreUnavailableError } from 'holdfast'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientFamilies } from '../../src/clients.ts'
import { startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { isAcquire, isRenew } from '../support/scripts.ts'
import { settle } from '../support/settling.ts'

/**
 * Goal: what is handed to a caller is valid by the time the request was *sent*, however late the answer came.
 * Method: the server is stopped, or the answer delayed at the proxy, for longer than the lease that was asked for.
 */

const TTL = 500
const PAUSE = 800
/** Long enough that the first try is still waited for when its answer comes. */
const BUDGET = 1_800

let server: RedisServer
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(() => scene.end())

/** Lets the server stand still from now on for as long as the lease and half of it again. */
async function pauseServer(): Promise<void> {
  await server.pause()
  setTimeout(() => server.resume(), PAUSE)
}

describe.each(clientFamilies)('%s', (kind) => {
  test('A1: server stopped for longer than the ttl: tryAcquire gives nothing that is over, and its key goes', async () => {
    scene = await Scene.open(server, { kind, budget: BUDGET })
    await scene.warmUp()
    await pauseServer()
    const { value: held, error } = await settle(scene.hf.lock('a', { ttl: TTL }).tryAcquire())
    // It was sent before the pause, so its grant was over when the answer came.
    expect(held).toBeUndefined()
    expect(error).toBeInstanceOf(StoreUnavailableError)
    expect(error?.message).toContain('only after its time was over')
    await waitFor(async () => (await scene.value('a')) === null, {
      what: 'the key to be removed',
      within: TTL,
    })
  })
})

test('A1: acquire goes on after such a grant, under another owner', async () => {
  scene = await Scene.open(server, { budget: BUDGET })
  await scene.warmUp()
  await pauseServer()
  const held = await scene.hf.lock('a', { ttl: TTL, wait: '10s' }).acquire()
  expect(held.lost).toBeNull()
  expect(held.remaining()).toBeGreaterThan(0)
  expect(await scene.owner('a')).toBe(held.owner)
  expect(scene.proxy.commands.byName.EVALSHA).toBeGreaterThan(2)
  await held.release()
  await waitFor(async () => (await scene.keys()).length === 0, { what: 'nothing to be left' })
})

test('A1: only the answer is late: the grant is never handed over', async () => {
  scene = await Scene.open(server, { budget: BUDGET })
  await scene.warmUp()
  const late = scene.proxy.delayReplyOf(isAcquire, PAUSE)
  const { value: held, error } = await settle(scene.hf.lock('a', { ttl: TTL }).tryAcquire())
  expect(late.count).toBe(1)
  expect(held).toBeUndefined()
  expect(error).toBeInstanceOf(StoreUnavailableError)
})

test('the deadline counts from when the request was sent: an acquire whose answer took 200 ms', async () => {
  scene = await Scene.open(server, { budget: BUDGET })
  await scene.warmUp()
  const late = scene.proxy.delayReplyOf(isAcquire, 200)
  const held = await scene.hf.lock('a', { ttl: TTL, renew: false }).acquire()
  expect(late.count).toBe(1)
  expect(held.remaining()).toBeGreaterThan(0)
  expect(held.remaining()).toBeLessThanOrEqual(TTL - 200 + 2)
  // By the local deadline the key is still there, and not the other way round.
  await waitFor(() => held.lost === 'expired', { what: 'the local deadline' })
})

test('the deadline counts from when the request was sent: a renewal whose answer took 200 ms', async () => {
  scene = await Scene.open(server, { budget: BUDGET })
  await scene.warmUp()
  const held = await scene.hf.lock('a', { ttl: TTL, renew: false }).acquire()
  const late = scene.proxy.delayReplyOf(isRenew, 200)
  await held.extend(TTL)
  expect(late.count).toBe(1)
  expect(held.remaining()).toBeGreaterThan(0)
  expect(held.remaining()).toBeLessThanOrEqual(TTL - 200 + 2)
})
