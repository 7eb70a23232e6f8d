import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { lockAddress } from '../name.ts'
import { LockEngine } from './engine.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { seededRandomness } from '../testing/seeded-randomness.ts'
import { TroubledStore } from '../testing/troubled-store.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { Attempt } from '../store/attempt.ts'
import { settleOwner } from './settlement.ts'

/**
 * Goal: what an abandoned owner has, or may yet get, is cleared away, and the clearing ends.
 * Method: an engine over a store that answers only when the test lets it, under a virtual clock. A copy of the acquire is
 * played by asking the store behind the engine's back.
 */

const BUDGET = 300
const TTL = 5_000
const address = lockAddress('test:v1', 'a')

let clock: VirtualClock
let store: TroubledStore
let engine: LockEngine

beforeEach(() => {
  clock = new VirtualClock()
  store = new TroubledStore(memoryStore())
  const { locks } = store.open({ clock, randomness: seededRandomness(1), prefixes: ['test:v1'] })
  engine = new LockEngine({
    store: locks,
    storeKind: store.kind,
    canWake: true,
    fences: 'clocked',
    clock,
    randomness: seededRandomness(2),
    budget: BUDGET,
    traceId: null,
  })
})

afterEach(() => engine.close({ release: false }))

/** A copy of the owner's acquire reaches the store now, if the store still takes it. */
async function copyArrives(owner: string, notAfter: number): Promise<void> {
  const validFor = notAfter - clock.wall()
  const attempt = new Attempt(Infinity, clock.monotonic() + validFor)
  const queue = { join: false, stands: false, yield: false }
  await engine.store.acquire({ address, owner, trace: null, ttl: TTL, queue }, attempt)
}

async function holder(): Promise<string | null> {
  const answer = await engine.store.inspect(address, new Attempt(Infinity, Infinity))
  return answer.result?.owner ?? null
}

/** Settles an owner, and tells whether that is over. */
function settling(owner: string, unfinishedUntil: number | null): { over: boolean } {
  const state = { over: false }
  void settleOwner(engine, address, owner, { unfinishedUntil, ttl: TTL }).then(() => (state.over = true))
  return state
}

describe('settleOwner', () => {
  test('one release is enough when no copy is under way', async () => {
    const owner = engine.newOwner(engine.table.at(address.key))
    await copyArrives(owner, Infinity)
    const state = settling(owner, null)
    await clock.settle()
    expect([state.over, await holder(), store.count('release')]).toEqual([true, null, 1])
  })

  test('D17: a copy that arrives after the release, within its time, leaves no key behind it', async () => {
    const owner = engine.newOwner(engine.table.at(address.key))
    const notAfter = clock.wall() + 200
    await copyArrives(owner, notAfter)
    const state = settling(owner, notAfter)
    await clock.advance(150)
    expect([state.over, await holder()]).toEqual([false, null])
    await copyArrives(owner, notAfter)
    expect(await holder()).toBe(owner)
    await clock.advance(52)
    expect([state.over, await holder(), store.count('release')]).toEqual([true, null, 2])
  })

  test('D17: a copy that arrives beyond its time is granted nothing', async () => {
    const owner = engine.newOwner(engine.table.at(address.key))
    const notAfter = clock.wall() + 200
    settling(owner, notAfter)
    await clock.advance(250)
    await copyArrives(owner, notAfter)
    expect(await holder()).toBeNull()
  })

  test('a release that is not answered is no release: it is repeated until one is', async () => {
    const owner = engine.newOwner(engine.table.at(address.key))
    await copyArrives(owner, Infinity)
    store.trouble('release', 'swallowed')
    const state = settling(owner, null)
    await clock.advance(4 * BUDGET)
    expect([state.over, await holder()]).toEqual([false, owner])
    store.heal()
    await clock.advance(1_500)
    expect([state.over, await holder()]).toEqual([true, null])
  })

  test('it neither hammers the store nor lets it rest for more than a second beyond the budget', async () => {
    store.trouble('release', 'refused')
    settling(engine.newOwner(engine.table.at(address.key)), null)
    await clock.advance(TTL)
    const moments = store.times('release')
    const gaps = moments.slice(1).map((at, i) => at - (moments[i] as number))
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1_000 + BUDGET)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(25)
  })

  test('it ends when any key of that owner must have expired by itself', async () => {
    store.trouble('release', 'swallowed')
    const state = settling(engine.newOwner(engine.table.at(address.key)), clock.wall() + BUDGET)
    await clock.advance(TTL + 2 * BUDGET - 1)
    expect(state.over).toBe(false)
    await clock.advance(BUDGET + 1_000)
    expect(state.over).toBe(true)
    const before = store.count('release')
    await clock.advance(10 * TTL)
    expect(store.count('release')).toBe(before)
  })

  test('nothing of it keeps the process alive', async () => {
    store.trouble('release', 'swallowed')
    settling(engine.newOwner(engine.table.at(address.key)), null)
    await clock.advance(BUDGET / 2)
    expect([clock.pendingTimers > 0, clock.keepAliveTimers]).toEqual([true, 0])
  })
})
