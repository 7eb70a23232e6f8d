import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { driftAllowance } from '../defaults.ts'
import { expectHeld, expectLost, LockBench } from '../testing/lock-bench.ts'

/**
 * Goal: neither a wall clock that is stepped nor a machine that sleeps makes a holder believe in a lock that is over; at
 * worst it is told early.
 * Method: a virtual clock whose monotonic and wall time can be moved apart.
 */

const TTL = 900
/** When the holder must take the lock for lost, counted from when it asked. */
const DEADLINE = TTL - driftAllowance(TTL)

let bench: LockBench

beforeEach(() => {
  bench = new LockBench()
})

afterEach(() => bench.end())

const take = (options: object = {}) => bench.hf.lock('a', { ttl: TTL, ...options }).acquire()

describe('fault 6: the wall clock is stepped', () => {
  const HOUR = 3_600_000

  test('forward by an hour: expired, early and safe', async () => {
    const held = await take()
    bench.clock.stepWall(HOUR)
    expectLost(held, 'expired')
    expect(await bench.other.lock('a').tryAcquire()).toBeNull()
  })

  test('forward by less than what is left: shortens it until the next renewal', async () => {
    const held = await take()
    bench.clock.stepWall(TTL / 2)
    expect(held.remaining()).toBeCloseTo(DEADLINE - TTL / 2)
    await bench.clock.advance(TTL / 3)
    expect(held.remaining()).toBeCloseTo(DEADLINE)
    await bench.clock.advance(10 * TTL)
    expectHeld(held)
  })

  test('back by an hour: changes nothing', async () => {
    const held = await take({ renew: false })
    bench.clock.stepWall(-HOUR)
    expect(held.remaining()).toBeCloseTo(DEADLINE)
    await bench.clock.advance(DEADLINE - 1)
    expectHeld(held)
    await bench.clock.advance(1)
    expectLost(held, 'expired')
  })

  test('back by an hour, in a lock that is renewed: changes nothing', async () => {
    const held = await take()
    bench.clock.stepWall(-HOUR)
    await bench.clock.advance(10 * TTL)
    expectHeld(held)
    bench.store.trouble('renew', 'swallowed')
    await bench.clock.advance(TTL)
    expectLost(held, 'unreachable')
  })
})

describe('fault 7: the machine sleeps, and the monotonic clock with it', () => {
  test('INV-T1: while its acquire was under way: the holder is told when the wall clock says that it is over', async () => {
    bench.store.trouble('renew', 'swallowed')
    const asked = take()
    bench.clock.asleepFor(TTL / 2)
    const held = await asked
    let told = false
    held.signal.addEventListener('abort', () => (told = true))
    await bench.clock.advance(Math.floor(DEADLINE - TTL / 2) - 1)
    expect(told).toBe(false)
    await bench.clock.advance(2)
    expect(told).toBe(true)
    expectLost(held, 'unreachable')
  })

  test('longer than the lease: lost on the first line afterwards', async () => {
    const held = await take()
    const { signal } = held
    bench.clock.asleepFor(TTL)
    expectLost(held, 'expired', signal)
  })

  test('shorter than the lease: still held', async () => {
    const held = await take()
    bench.clock.asleepFor(TTL / 2)
    expectHeld(held)
    await bench.clock.advance(TTL)
    expectHeld(held)
  })

  test('is noticed also when the wall clock had been set back before', async () => {
    const held = await take()
    bench.clock.stepWall(-3_600_000)
    await bench.clock.advance(3 * TTL)
    expectHeld(held)
    bench.clock.asleepFor(2 * TTL)
    expectLost(held, 'expired')
  })

  test('does not take a longer lease for over that was asked for by extend', async () => {
    const held = await take()
    await held.extend('1m')
    bench.clock.asleepFor(40_000)
    await bench.clock.advance(60_000)
    expectHeld(held)
  })
})
