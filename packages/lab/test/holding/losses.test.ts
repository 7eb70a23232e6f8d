import Database from 'better-sqlite3'
import {
  createHoldfast,
  listen,
  type Holdfast,
  type Held,
  type HoldfastEvents,
  type LossReason,
} from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { sqliteStore } from 'holdfast/sqlite'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ownFolder, removeFolder, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: a holder is told why its lock is lost, once, and by everything that can be asked.
 * Method: each reason is brought about on each real store that knows it.
 */

const TTL = 600

type Losses = HoldfastEvents['holdfast:lock:lost'][]

let server: RedisServer
let folder: string
let losses: Losses
let stop: () => void

beforeAll(async () => {
  server = await startRedis()
  folder = ownFolder('losses')
})
afterAll(async () => {
  await server.stop()
  removeFolder(folder)
})
beforeEach(() => {
  losses = []
  stop = listen('holdfast:lock:lost', (event) => losses.push(event))
})
afterEach(() => stop())

async function expectLoss(held: Held, reason: LossReason, within = 3 * TTL): Promise<void> {
  const { signal } = held
  await waitFor(() => losses.length > 0, { what: `the loss (${reason})`, within })
  expect(losses).toMatchObject([{ reason, owner: held.owner, fence: String(held.fence) }])
  expect([held.lost, held.remaining(), signal.aborted]).toEqual([reason, 0, true])
  expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason })
  expect(() => held.assertHeld()).toThrow(`The lock "a" is not held`)
  expect(await held.release()).toEqual({ released: false, reason })
  expect(losses).toHaveLength(1)
}

describe('redis', () => {
  let scene: Scene
  beforeEach(async () => {
    scene = await Scene.open(server)
    await scene.warmUp()
  })
  afterEach(() => scene.end())

  test('expired', async () => {
    await expectLoss(await scene.hf.lock('a', { ttl: TTL, renew: false }).acquire(), 'expired')
  })

  test('taken', async () => {
    const held = await scene.hf.lock('a', { ttl: TTL }).acquire()
    await server.command('SET', scene.key('a'), 'thief', 'PX', 60_000)
    await expectLoss(held, 'taken')
  })

  test('missing', async () => {
    const held = await scene.hf.lock('a', { ttl: TTL }).acquire()
    await server.command('DEL', scene.key('a'))
    await expectLoss(held, 'missing')
  })

  test('unreachable', async () => {
    const held = await scene.hf.lock('a', { ttl: TTL }).acquire()
    await server.pause()
    await expectLoss(held, 'unreachable')
  })

  test('max-hold, and the lock is free then', async () => {
    const held = await scene.hf.lock('a', { ttl: '30s', maxHold: 500 }).acquire()
    await expectLoss(held, 'max-hold')
    await waitFor(async () => (await scene.value('a')) === null, { what: 'the lock to be free', within: 500 })
  })

  test('forced: pushed at once, long before any renewal, and the fence is raised', async () => {
    const held = await scene.hf.lock('a', { ttl: '60s' }).acquire()
    await scene.untilListening(held)
    const operator = await scene.another()
    const { released, holder, fence } = await operator.forceRelease('a')
    expect([released, holder]).toEqual([true, held.owner])
    expect(fence).toBeGreaterThan(held.fence)
    await expectLoss(held, 'forced', 1_000)
    expect(await scene.lastFence()).toBe(fence)
    const next = await operator.lock('a').acquire()
    expect(next.fence).toBeGreaterThan(fence as bigint)
  })

  test('forced before it listened: missing, as soon as it listens', async () => {
    // Ready to ask in the turn in which the other only begins to connect, so as to listen.
    const operator = await scene.another()
    await operator.forceRelease('b')
    const held = await scene.hf.lock('a', { ttl: '60s' }).acquire()
    await operator.forceRelease('a')
    await waitFor(() => held.lost !== null, { what: 'the loss', within: 3_000 })
    expect(held.lost).toBe('missing')
  })

  test('a forced release of an owner who holds no more leaves the next one alone', async () => {
    const first = await scene.hf.lock('a').acquire()
    await first.release()
    const second = await scene.hf.lock('a').acquire()
    const operator = await scene.another()
    expect(await operator.forceRelease('a', { owner: first.owner })).toEqual({
      released: false,
      holder: second.owner,
      fence: null,
    })
    expect([await scene.owner('a'), second.lost]).toEqual([second.owner, null])
  })

  test('a last fence that leads the clock is told once for each grant, with how much', async () => {
    const told: HoldfastEvents['holdfast:fence:leads-clock'][] = []
    const stopHearing = listen('holdfast:fence:leads-clock', (event) => told.push(event))
    await (await scene.hf.lock('a').acquire()).release()
    expect(told).toEqual([])
    const last = Number(await scene.lastFence())
    for (const [ahead, level] of [
      [60_000_000, 'second'],
      [7_200_000_000, 'hour'],
    ] as const) {
      await server.command('SET', `${scene.prefix}:fence`, String(last + ahead), 'PX', 60_000)
      const held = await scene.hf.lock('a').acquire()
      expect(held.fence).toBe(BigInt(last + ahead + 1))
      await held.release()
      expect(told.splice(0)).toMatchObject([
        { lock: 'a', key: scene.key('a'), fence: String(held.fence), level },
      ])
    }
    stopHearing()
  })
})

describe('sqlite', () => {
  let database: Database.Database
  let operator: Database.Database
  let hf: Holdfast
  let other: Holdfast
  let files = 0

  beforeEach(() => {
    const path = join(folder, `locks ${(files += 1)}.db`)
    database = new Database(path)
    operator = new Database(path)
    hf = createHoldfast({ store: sqliteStore(database) })
    other = createHoldfast({ store: sqliteStore(new Database(path)) })
  })
  afterEach(async () => {
    await Promise.all([hf.close(), other.close()])
    database.close()
    operator.close()
  })

  test('expired', async () => {
    await expectLoss(await hf.lock('a', { ttl: TTL, renew: false }).acquire(), 'expired')
  })

  test('missing', async () => {
    const held = await hf.lock('a', { ttl: TTL }).acquire()
    operator.exec('DELETE FROM holdfast_lock')
    await expectLoss(held, 'missing')
  })

  test('taken', async () => {
    const held = await hf.lock('a', { ttl: TTL }).acquire()
    operator.exec('DELETE FROM holdfast_lock')
    const thief = await other.lock('a').acquire()
    await expectLoss(held, 'taken')
    expect(await thief.release()).toEqual({ released: true, confirmed: true })
  })

  test('the file is busy for longer than the lease: told at the deadline, and nothing blocks meanwhile', async () => {
    const held = await hf.lock('a', { ttl: TTL }).acquire()
    operator.exec('BEGIN IMMEDIATE')
    let longest = 0
    let before = performance.now()
    const watch = setInterval(() => {
      longest = Math.max(longest, performance.now() - before)
      before = performance.now()
    }, 5)
    await waitFor(() => losses.length > 0, { what: 'the loss', within: 3 * TTL })
    clearInterval(watch)
    operator.exec('ROLLBACK')
    expect(['expired', 'unreachable']).toContain(held.lost)
    expect(longest).toBeLessThan(TTL / 2)
  })

  test('max-hold, and the lock is free then', async () => {
    const held = await hf.lock('a', { ttl: '30s', maxHold: 500 }).acquire()
    await expectLoss(held, 'max-hold')
    await waitFor(async () => (await other.inspect('a')) === null, { what: 'the lock to be free' })
  })

  test('forced: nothing is pushed, so that it is missing at the next renewal', async () => {
    const held = await hf.lock('a', { ttl: TTL }).acquire()
    expect(await other.forceRelease('a')).toMatchObject({ released: true, holder: held.owner })
    await expectLoss(held, 'missing')
  })
})

describe('memory', () => {
  const store = memoryStore()
  const hf = createHoldfast({ store })
  const other = createHoldfast({ store })
  afterAll(() => Promise.all([hf.close(), other.close()]))

  test('expired', async () => {
    await expectLoss(await hf.lock('a', { ttl: TTL, renew: false }).acquire(), 'expired')
  })

  test('max-hold, and the lock is free then', async () => {
    const held = await hf.lock('a', { ttl: '30s', maxHold: 500 }).acquire()
    await expectLoss(held, 'max-hold')
    expect(await other.inspect('a')).toBeNull()
  })

  test('forced: pushed at once', async () => {
    const held = await hf.lock('a', { ttl: '60s' }).acquire()
    await other.forceRelease('a')
    await expectLoss(held, 'forced', 1_000)
  })
})
