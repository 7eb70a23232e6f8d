import { formatVerdict, type Verdict } from 'holdfast/testing'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  ownFolder,
  removeFolder,
  sleep,
  startProxy,
  startRedis,
  type RedisServer,
  type Worker,
} from '../../src/index.ts'
import { isAcquire, isRelease, isRenew } from '../support/scripts.ts'
import { Arena, spawnContenders } from './arena.ts'

/**
 * Goal: under real faults the promises hold, and where a fault breaks what they rest on, the harm is counted and the guard
 * refuses it.
 * Method: four processes contend for one lock and write to a guarded table, without looking whether they still hold. They
 * are stopped for longer than their lease, killed, cut off and answered late; then the checker judges the whole history.
 */

const TTL = 500

let folder: string
let workers: Worker[]

beforeAll(() => {
  folder = ownFolder('histories')
})
afterAll(() => removeFolder(folder))
beforeEach(async () => {
  workers = await spawnContenders(4)
})
afterEach(() => Promise.all(workers.map((worker) => worker.kill())))

/** No invariant is broken, and there was enough that could have broken one. */
function expectRight(verdict: Verdict): void {
  const { counted } = verdict
  expect(verdict.ok, formatVerdict(verdict)).toBe(true)
  expect(counted.acquires.granted).toBeGreaterThan(30)
  expect(counted.writes.accepted).toBeGreaterThan(30)
  // The stopped holders wrote when they went on, with a fence that was stale by then.
  expect(counted.writes.refused).toBeGreaterThan(0)
  expect(Object.values(counted.losses).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0)
  // They believed to hold while another did: nobody can tell a process that stands still.
  expect(counted.overlaps.byCause).toMatchObject({ SIGSTOP: expect.any(Number) as number })
  expect(counted.overlaps.byCause).not.toHaveProperty('none')
}

test('on redis: fault 1, 2, 4, 10, 11, 28, 29, 35, 36', async () => {
  const server: RedisServer = await startRedis()
  const proxy = await startProxy({ target: server })
  try {
    const store = { redis: proxy.url }
    const arena = await Arena.open(join(folder, 'redis'), workers, {
      kind: 'holdfast',
      store,
      ttl: TTL,
      view: { redis: server.url },
    })
    const contending = arena.contend(8_000)
    await sleep(300)
    await arena.stopHolder(3 * TTL)
    await arena.fault('replies lost', ['service'], async () => {
      const lost = [isAcquire, isRelease, isRenew].map((match) => proxy.loseReplyOf(match, { times: 3 }))
      await sleep(500)
      for (const injection of lost) injection.cancel()
    })
    await arena.fault('slow', ['service'], async () => {
      proxy.toClient.delay(0.2 * TTL, { jitter: 0.1 * TTL })
      await sleep(500)
      proxy.toClient.pass()
    })
    await arena.fault('storm of resets', ['service'], async () => {
      for (let i = 0; i < 5; i += 1) {
        proxy.resetAll()
        await sleep(40)
      }
    })
    await arena.stopHolder(3 * TTL)
    await arena.kill(await arena.holder())
    await arena.fault('frozen for half a ttl', ['service'], async () => {
      await server.pause()
      await sleep(TTL / 2)
      server.resume()
    })
    await arena.fault('frozen for longer than a ttl', ['service'], async () => {
      await server.pause()
      await sleep(1.5 * TTL)
      server.resume()
    })
    await contending
    expectRight(await arena.judge())
  } finally {
    server.resume()
    await proxy.close()
    await server.stop()
  }
})

test('on sqlite: fault 1, 2, 4', async () => {
  const store = { sqlite: join(folder, 'locks.db') }
  const arena = await Arena.open(join(folder, 'sqlite'), workers, { kind: 'holdfast', store, ttl: TTL })
  const contending = arena.contend(6_000)
  await sleep(300)
  await arena.stopHolder(3 * TTL)
  await sleep(300)
  await arena.kill(await arena.holder())
  await arena.stopHolder(3 * TTL)
  await contending
  expectRight(await arena.judge())
})
