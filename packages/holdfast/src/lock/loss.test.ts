import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { driftAllowance } from '../defaults.ts'
import { LockLostError } from '../errors.ts'
import type { Held } from './held.ts'
import { expectHeld, expectLost, LockBench } from '../testing/lock-bench.ts'

/**
 * Goal: a holder that has lost its lock is told so, once, at the local deadline at the latest, and by everything that can
 * be asked on the very next line.
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

describe('C4: an outage of the store', () => {
  test('of half a ttl: still held', async () => {
    const held = await take()
    await bench.clock.advance(TTL / 3)
    bench.store.trouble('renew', 'swallowed')
    await bench.clock.advance(TTL / 2)
    bench.store.heal()
    await bench.clock.advance(5 * TTL)
    expectHeld(held)
  })

  test.each([1, 3])(
    'of %i ttl: exactly one loss, at the local deadline, with the store still away',
    async (ttls) => {
      const losses = bench.hear('holdfast:lock:lost')
      const held = await take()
      const began = bench.clock.monotonic()
      let aborted = 0
      let toldAt = 0
      held.signal.addEventListener('abort', () => {
        aborted += 1
        toldAt = bench.clock.monotonic()
      })
      bench.store.trouble('renew', 'swallowed')
      await bench.clock.advance(DEADLINE - 0.001)
      expect(losses).toEqual([])
      expect(held.remaining()).toBeCloseTo(0.001)
      await bench.clock.advance(0.001)
      expect(losses).toMatchObject([{ reason: 'unreachable', owner: held.owner, held: DEADLINE }])
      expect(toldAt - began).toBeCloseTo(DEADLINE)
      await bench.clock.advance(ttls * TTL - DEADLINE)
      bench.store.heal()
      await bench.clock.advance(5 * TTL)
      expect([losses.length, aborted]).toEqual([1, 1])
      expectLost(held, 'unreachable')
    },
  )
})

describe('the loss has a reason', () => {
  test('expired: nobody renewed it', async () => {
    const held = await take({ renew: false })
    await bench.clock.advance(DEADLINE)
    expectLost(held, 'expired')
  })

  test('expired: the store refused every renewal, so that it was not unreachable', async () => {
    const held = await take()
    bench.store.trouble('renew', 'refused')
    await bench.clock.advance(DEADLINE)
    expectLost(held, 'expired')
  })

  test('unreachable: the last renewal was sent and not answered', async () => {
    const held = await take()
    bench.store.trouble('renew', 'unanswered')
    await bench.clock.advance(DEADLINE)
    expectLost(held, 'unreachable')
  })

  test('forced: told at once', async () => {
    const held = await take()
    const { signal } = held
    const { released, holder, fence } = await bench.other.forceRelease('a')
    expect([released, holder]).toEqual([true, held.owner])
    expect(fence).toBeGreaterThan(held.fence)
    await bench.clock.settle()
    expectLost(held, 'forced', signal)
    expect(bench.store.count('renew')).toBe(0)
  })

  test('max-hold', async () => {
    const held = await take({ maxHold: 2 * TTL })
    await bench.clock.advance(2 * TTL - 1)
    expectHeld(held)
    await bench.clock.advance(1)
    expectLost(held, 'max-hold')
  })

  test('and only one: what comes later does not change it, and is not told', async () => {
    const losses = bench.hear('holdfast:lock:lost')
    const held = await take({ maxHold: TTL / 2 })
    await bench.clock.advance(TTL / 2)
    await bench.other.lock('a', { ttl: TTL }).acquire()
    await bench.other.forceRelease('a', { owner: held.owner })
    await bench.clock.advance(5 * TTL)
    expectLost(held, 'max-hold')
    expect(losses.map(({ reason }) => reason)).toEqual(['max-hold'])
  })
})

describe('a lock that passed on behind its holder’s back', () => {
  /** The first holder's key goes, as if evicted, and nobody pushes a word. */
  async function evict(held: Held): Promise<void> {
    bench.store.deafen()
    await bench.other.forceRelease('a', { owner: held.owner })
  }

  test('known at once when this process is granted the key anew', async () => {
    const held = await take()
    await evict(held)
    expectHeld(held)
    const next = await bench.hf.lock('a', { ttl: TTL }).tryAcquire()
    expect(next?.lost).toBeNull()
    expectLost(held, 'taken')
    expect(await next?.release()).toEqual({ released: true, confirmed: true })
  })

  test('C3: the key vanished: missing at the next renewal; it is never made again', async () => {
    const held = await take()
    await evict(held)
    await bench.clock.advance(TTL / 3 - 1)
    expectHeld(held)
    await bench.clock.advance(1)
    expectLost(held, 'missing')
    await bench.clock.advance(5 * TTL)
    expect(await bench.other.inspect('a')).toBeNull()
    expect(bench.store.count('renew')).toBe(1)
  })

  test('C3: it was taken and freed by another: missing', async () => {
    const held = await take()
    await evict(held)
    await (await bench.other.lock('a').acquire()).release()
    await bench.clock.advance(TTL / 3)
    expectLost(held, 'missing')
    expect(await bench.other.inspect('a')).toBeNull()
  })

  test('C6: it was stolen: taken, known at the next renewal plus its way, and final', async () => {
    const held = await take()
    await evict(held)
    const thief = await bench.other.lock('a', { ttl: 60_000 }).acquire()
    bench.store.trouble('renew', { answeredAfter: 7 })
    await bench.clock.advance(TTL / 3 + 6)
    expectHeld(held)
    await bench.clock.advance(1)
    expectLost(held, 'taken')
    await bench.clock.advance(10 * TTL)
    expect(bench.store.count('renew')).toBe(1)
    expect(await held.release()).toEqual({ released: false, reason: 'taken' })
    await bench.clock.advance(TTL)
    expect((await bench.other.inspect('a'))?.owner).toBe(thief.owner)
    expectHeld(thief)
  })
})

describe('C11: maxHold', () => {
  test('a hung holder is aborted, and its lock free, at that very time', async () => {
    const held = await take({ ttl: 30_000, maxHold: '1s' })
    await bench.clock.advance(999)
    expect(await bench.other.lock('a').tryAcquire()).toBeNull()
    await bench.clock.advance(1)
    expectLost(held, 'max-hold')
    expect(await bench.other.lock('a').tryAcquire()).not.toBeNull()
    expect(bench.store.count('renew')).toBe(0)
  })

  test('run tells it, with what the work came to', async () => {
    const running = bench.hf.lock('a', { maxHold: '1s' }).run(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return 'stopped'
    })
    const outcome = await bench.outcomeOf(running, 1_000)
    expect(outcome).toMatchObject({
      error: { code: 'LOCK_LOST', reason: 'max-hold', work: { value: 'stopped' } },
    })
  })

  test('bounds what remains, however long the lease', async () => {
    const held = await take({ ttl: 30_000, maxHold: '1s' })
    await bench.clock.advance(400)
    expect(held.remaining()).toBe(600)
  })

  test('counts while the event loop is blocked, too', async () => {
    const held = await take({ ttl: 30_000, maxHold: '1s' })
    const { signal } = held
    bench.clock.blockFor(1_000)
    expectLost(held, 'max-hold', signal)
    await bench.clock.settle()
    expect(await bench.other.inspect('a')).toBeNull()
  })

  test('a release of it that fails is tried until the key must be gone', async () => {
    await take({ ttl: 30_000, maxHold: '1s' })
    bench.store.trouble('release', 'cut', { times: 2 })
    bench.store.trouble('release', 'swallowed', { times: 2 })
    await bench.clock.advance(5_000)
    expect(await bench.other.inspect('a')).toBeNull()
  })
})

describe('D1: an event loop that was blocked for 1.5 ttl', () => {
  test.each([
    'lost',
    'signal',
    'signal.reason',
    'assertHeld',
    'remaining',
    'throwIfAborted',
    'toJSON',
  ] as const)('on the very next line %s is right', async (what) => {
    const held = await take()
    const { signal } = held
    bench.clock.blockFor(1.5 * TTL)
    const asked = {
      lost: () => held.lost === 'expired',
      signal: () => signal.aborted,
      'signal.reason': () => (signal.reason as LockLostError).reason === 'expired',
      assertHeld: () => throws(() => held.assertHeld()),
      remaining: () => held.remaining() === 0,
      throwIfAborted: () => throws(() => signal.throwIfAborted()),
      toJSON: () => (JSON.parse(JSON.stringify(held)) as { lost: string }).lost === 'expired',
    }[what]
    expect(asked()).toBe(true)
    expectLost(held, 'expired', signal)
  })

  test('also a signal that is asked for only then', async () => {
    const held = await take()
    bench.clock.blockFor(1.5 * TTL)
    expect(held.signal.aborted).toBe(true)
  })

  test('nothing is sent for it any more, not even by timers that are overdue', async () => {
    const held = await take()
    bench.clock.blockFor(1.5 * TTL)
    await bench.clock.advance(5 * TTL)
    expect(bench.store.count('renew')).toBe(0)
    expectLost(held, 'expired')
  })

  test('the holder is told in the first turn afterwards when it asks nothing', async () => {
    const held = await take()
    const losses = bench.hear('holdfast:lock:lost')
    bench.clock.blockFor(1.5 * TTL)
    await bench.clock.advance(0)
    expect(losses).toMatchObject([{ reason: 'expired', owner: held.owner }])
  })

  test('fault 4: stopped before the grant could be handed on: it is not, another one is', async () => {
    const acquiring = bench.hf.lock('a', { ttl: TTL }).acquire()
    await Promise.resolve()
    bench.clock.blockFor(3 * TTL)
    const outcome = await bench.outcomeOf(acquiring, 100)
    const { value } = outcome as { value: Held }
    expectHeld(value)
    expect((await bench.other.inspect('a'))?.owner).toBe(value.owner)
    expect(bench.store.count('acquire')).toBe(2)
  })

  test('fault 4: stopped between the grant and the first use', async () => {
    const held = await take()
    bench.clock.blockFor(3 * TTL)
    expect(() => held.assertHeld()).toThrow(LockLostError)
    expectLost(held, 'expired')
  })
})

function throws(run: () => void): boolean {
  try {
    run()
    return false
  } catch {
    return true
  }
}
