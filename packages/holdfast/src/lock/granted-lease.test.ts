import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { driftAllowance } from '../defaults.ts'
import { LockBench } from '../testing/lock-bench.ts'

/**
 * Goal: a holder keeps its lock while it can, and is told the truth about it at every moment.
 * Method: a virtual clock, so that milliseconds are exact, and a store that answers only when the test lets it.
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

describe('renewal', () => {
  test('keeps a lock for as long as it is wanted, at a third of the ttl', async () => {
    const held = await take()
    await bench.clock.advance(100 * TTL)
    expect(held.lost).toBeNull()
    expect(held.remaining()).toBeGreaterThan(DEADLINE * 0.6)
    expect(bench.store.count('renew')).toBe(300)
    expect(await bench.other.lock('a').tryAcquire()).toBeNull()
  })

  test('never writes the value and never shortens', async () => {
    const held = await take()
    await held.extend('1m')
    await bench.clock.advance(TTL)
    expect(await bench.hf.inspect('a')).toMatchObject({ owner: held.owner, fence: held.fence })
    expect((await bench.hf.inspect('a'))?.remaining).toBe(60_000 - TTL)
    expect(held.remaining()).toBe(60_000 - driftAllowance(60_000) - TTL)
  })

  test('does not happen with renew: false', async () => {
    const held = await take({ renew: false })
    await bench.clock.advance(DEADLINE - 1)
    expect(held.lost).toBeNull()
    await bench.clock.advance(1)
    expect(held.lost).toBe('expired')
    expect(bench.store.count('renew')).toBe(0)
  })

  test('C5: a first try that fails and a second that succeeds: still held, no abort', async () => {
    const failed = bench.hear('holdfast:lock:renew-failed')
    const held = await take()
    const { signal } = held
    bench.store.trouble('renew', 'cut', { times: 1 })
    await bench.clock.advance(TTL / 3)
    expect(failed).toHaveLength(1)
    await bench.clock.advance(10 * TTL)
    expect([held.lost, signal.aborted]).toEqual([null, false])
  })

  test.each(['swallowed', 'unanswered', 'unsent', 'refused', 'cut'] as const)(
    'C5: tries that are %s until just before the deadline lose nothing',
    async (trouble) => {
      const held = await take()
      bench.store.trouble('renew', trouble)
      await bench.clock.advance(DEADLINE - TTL / 9)
      expect(bench.store.count('renew')).toBeGreaterThan(3)
      bench.store.heal()
      await bench.clock.advance(3 * TTL)
      expect(held.lost).toBeNull()
    },
  )

  test('an answer that comes late counts from when the request was sent', async () => {
    const held = await take()
    bench.store.trouble('renew', { answeredAfter: TTL / 2 })
    await bench.clock.advance(TTL / 3)
    bench.store.trouble('renew', 'swallowed')
    await bench.clock.advance(TTL / 2)
    expect(held.remaining()).toBeCloseTo(DEADLINE - TTL / 2)
  })

  test('an answer that comes after the deadline does not bring the lock back', async () => {
    const held = await take()
    bench.store.trouble('renew', { answeredAfter: TTL })
    await bench.clock.advance(3 * TTL)
    expect(held.lost).toBe('unreachable')
  })

  test('a renewal that arrives after the deadline, while the key still stands, prolongs nothing', async () => {
    const held = await take()
    bench.store.trouble('renew', { arrivesAfter: DEADLINE - TTL / 3 + 5 })
    await bench.clock.advance(TTL / 3)
    bench.store.trouble('renew', 'swallowed')
    await bench.clock.advance(DEADLINE - TTL / 3 + 6)
    expect(held.lost).toBe('unreachable')
    expect(await bench.other.inspect('a')).not.toBeNull()
    await bench.clock.advance(TTL - DEADLINE)
    expect(await bench.other.inspect('a')).toBeNull()
  })

  test('a subscription that comes and goes does not make it renew more often than ten times in a ttl', async () => {
    const held = await take()
    // Where a lock is missing the server is asked at once after each gap; a gap comes with each new subscription.
    for (let gaps = 0; gaps < 200; gaps += 1) {
      bench.store.gap()
      await bench.clock.advance(TTL / 40)
    }
    expect(held.lost).toBeNull()
    expect(mostWithin(TTL, bench.store.times('renew'))).toBeLessThanOrEqual(10)
    expect(bench.store.count('renew')).toBeGreaterThan(20)
  })
})

describe('C7: how often it is renewed', () => {
  test.each([50, 100, 500, 1_000, 1_250])('at most ten calls in any %i ms of that ttl', async (ttl) => {
    for (const trouble of [null, 'swallowed', 'unsent', 'refused', 'cut'] as const) {
      const quick = new LockBench()
      const held = await quick.hf.lock('a', { ttl }).acquire()
      for (let round = 0; round < 10; round += 1) {
        if (trouble !== null) quick.store.trouble('renew', trouble)
        await quick.clock.advance(0.5 * ttl)
        quick.store.heal()
        await quick.clock.advance(ttl / 2)
      }
      expect(held.lost).toBeNull()
      expect(mostWithin(ttl, quick.store.times('renew'))).toBeLessThanOrEqual(10)
      quick.store.trouble('renew', trouble ?? 'swallowed')
      await quick.clock.advance(ttl)
      expect(held.lost).not.toBeNull()
      expect(mostWithin(ttl, quick.store.times('renew'))).toBeLessThanOrEqual(10)
      expect(quick.store.count('renew')).toBeGreaterThan(20)
    }
  })

  test('a lock in trouble is not tried as often as the one beside it is renewed', async () => {
    const key = 'the long one'
    const long = await bench.hf.lock('long', { ttl: 9_000, key }).acquire()
    await bench.hf.lock('short', { ttl: 90 }).acquire()
    bench.store.trouble('renew', 'swallowed', { key })
    await bench.clock.advance(9_000)
    expect(long.lost).toBe('unreachable')
    expect(bench.store.times('renew', key).length).toBeLessThanOrEqual(10)
  })

  test('locks that are due at about the same time are renewed at the same time', async () => {
    for (let i = 0; i < 10; i += 1) {
      await bench.hf.lock(`lock ${i}`, { ttl: TTL }).acquire()
      await bench.clock.advance(5)
    }
    await bench.clock.advance(20 * TTL)
    const moments = new Set(bench.store.times('renew').slice(-30))
    expect(moments.size).toBeLessThanOrEqual(3)
  })
})

/** The most of these moments that lie within a span of that length. */
function mostWithin(span: number, moments: readonly number[]): number {
  return Math.max(...moments.map((from) => moments.filter((at) => at >= from && at < from + span).length))
}
