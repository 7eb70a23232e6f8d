import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { driftAllowance } from '../defaults.ts'
import { LockBench } from '../testing/lock-bench.ts'

/**
 * Goal: giving a lock back stops everything that is done for it, says what came of it, and may be repeated.
 * Method: a virtual clock, so that milliseconds are exact, and a store that answers only when the test lets it.
 */

const TTL = 900
const BUDGET = 1_000

let bench: LockBench

beforeEach(() => {
  bench = new LockBench()
})

afterEach(() => bench.end())

const take = (options: object = {}) => bench.hf.lock('a', { ttl: TTL, ...options }).acquire()
const isFree = async () => (await bench.other.inspect('a')) === null

describe('release', () => {
  test('C1: in the very tick in which the acquire resolved, a thousand times: nothing is renewed afterwards', async () => {
    for (let round = 0; round < 1_000; round += 1) {
      const released = await bench.hf
        .lock('a', { ttl: TTL })
        .acquire()
        .then((held) => held.release())
      expect(released).toEqual({ released: true, confirmed: true })
    }
    expect(await isFree()).toBe(true)
    expect(bench.clock.pendingTimers).toBe(0)
    await bench.clock.advance(10 * TTL)
    expect([bench.store.count('renew'), bench.store.count('release')]).toEqual([0, 1_000])
  })

  test('frees it, and tells so', async () => {
    const told = bench.hear('holdfast:lock:released')
    const held = await take()
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    expect(await isFree()).toBe(true)
    expect(told).toHaveLength(1)
    expect([held.lost, held.remaining()]).toEqual([null, 0])
    expect(() => held.assertHeld()).toThrow('its holder has released it already')
  })

  test('that takes its time does not delete what the next one got meanwhile', async () => {
    const held = await take({ renew: false })
    await bench.clock.advance(TTL - driftAllowance(TTL) - 1)
    const releasing = held.release()
    bench.clock.blockFor(TTL)
    const next = await bench.other.lock('a').acquire()
    await bench.clock.settle()
    await releasing
    expect((await bench.other.inspect('a'))?.owner).toBe(next.owner)
  })

  test('asked for twice at once, both are told that it was released', async () => {
    const told = bench.hear('holdfast:lock:released')
    const held = await take()
    const both = await Promise.all([held.release(), held.release()])
    expect(both).toEqual([
      { released: true, confirmed: true },
      { released: true, confirmed: true },
    ])
    expect([told.length, held.lost]).toEqual([1, null])
  })

  test('asked for again afterwards, it costs nothing and says the same', async () => {
    const held = await take()
    await held.release()
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    expect(bench.store.count('release')).toBe(1)
  })

  test('while a renewal is on its way: the renewal is called off, and its answer changes nothing', async () => {
    const held = await take()
    bench.store.trouble('renew', { answeredAfter: 50 })
    await bench.clock.advance(TTL / 3)
    const { attempt } = bench.store.calls.find(({ call }) => call === 'renew')!
    expect(attempt.abandoned).toBe(false)
    const releasing = held.release()
    expect(attempt.abandoned).toBe(true)
    expect(await releasing).toEqual({ released: true, confirmed: true })
    await bench.clock.advance(10 * TTL)
    expect([held.lost, bench.store.count('renew')]).toEqual([null, 1])
    expect(await isFree()).toBe(true)
  })

  test.each(['swallowed', 'unanswered'] as const)(
    'C2: it times out (%s): renewal stops all the same, the key is gone within the ttl, the caller is told why',
    async (trouble) => {
      const failed = bench.hear('holdfast:lock:release-failed')
      const held = await take()
      await bench.clock.advance(TTL / 2)
      const renewedAt = bench.store.times('renew').at(-1)!
      bench.store.trouble('release', trouble)
      const asked = bench.clock.monotonic()
      const outcome = await bench.outcomeOf(held.release(), BUDGET)
      expect(outcome).toMatchObject({
        error: { code: 'STORE_UNAVAILABLE', outcome: 'unknown', retryable: true },
      })
      expect((outcome as { error: Error }).error.message).toMatch(
        /Releasing the lock "a" failed.*did not answer/,
      )
      expect(failed).toMatchObject([{ lock: 'a', owner: held.owner, reason: 'silent' }])
      await bench.clock.advance(10 * TTL)
      expect(bench.store.times('renew').filter((at) => at >= asked)).toEqual([])
      bench.store.heal()
      expect(bench.clock.monotonic()).toBeGreaterThan(renewedAt + TTL)
      expect(await isFree()).toBe(true)
      expect(bench.store.count('release')).toBe(3)
    },
  )

  test('C2: the key of a release that never arrived lives as long as its last renewal let it, and no longer', async () => {
    const held = await take()
    await bench.clock.advance(TTL / 2)
    const renewedAt = bench.store.times('renew').at(-1)!
    bench.store.trouble('release', 'swallowed')
    const releasing = held.release().catch((error: unknown) => error)
    await bench.clock.advance(renewedAt + TTL - 1 - bench.clock.monotonic())
    expect(await isFree()).toBe(false)
    await bench.clock.advance(1)
    expect(await isFree()).toBe(true)
    await bench.clock.advance(BUDGET)
    expect(await releasing).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  test('a failed one is not used up: a new acquire of the same process clears it out of its way', async () => {
    const held = await take({ ttl: 60_000 })
    bench.store.trouble('release', 'swallowed')
    await bench.outcomeOf(held.release(), BUDGET)
    bench.store.heal()
    expect(await bench.hf.lock('a').tryAcquire()).not.toBeNull()
  })
})

describe('D9: release after expiry', () => {
  test('answers at once, tries nothing again, and throws nothing', async () => {
    const failed = bench.hear('holdfast:lock:release-failed')
    const held = await take({ renew: false })
    await bench.clock.advance(TTL)
    expect(await held.release()).toEqual({ released: false, reason: 'expired' })
    expect(await held.release()).toEqual({ released: false, reason: 'expired' })
    await bench.clock.advance(10 * BUDGET)
    expect(bench.store.count('release')).toBe(1)
    expect(failed).toEqual([])
  })

  test.each(['swallowed', 'refused', 'unsent', 'cut'] as const)(
    'also when the store is in trouble (%s)',
    async (trouble) => {
      const held = await take({ renew: false })
      await bench.clock.advance(TTL)
      bench.store.trouble('release', trouble)
      expect(await held.release()).toEqual({ released: false, reason: 'expired' })
      await bench.clock.advance(10 * BUDGET)
      expect(bench.store.count('release')).toBe(1)
    },
  )

  test('clears away a key that outlived the holder’s own deadline', async () => {
    const held = await take({ renew: false })
    await bench.clock.advance(TTL - driftAllowance(TTL))
    expect(await isFree()).toBe(false)
    expect(await held.release()).toEqual({ released: false, reason: 'expired' })
    await bench.clock.settle()
    expect(await isFree()).toBe(true)
  })

  test('leaves the next holder alone', async () => {
    const held = await take({ renew: false })
    await bench.clock.advance(TTL)
    const next = await bench.other.lock('a').acquire()
    expect(await held.release()).toEqual({ released: false, reason: 'expired' })
    await bench.clock.advance(BUDGET)
    expect((await bench.other.inspect('a'))?.owner).toBe(next.owner)
  })

  test('that nobody had noticed before the release itself', async () => {
    const foreign = bench.hear('holdfast:lock:foreign-release')
    const held = await take()
    await bench.other.forceRelease('a', { owner: held.owner })
    const next = await bench.other.lock('a').acquire()
    expect(await held.release()).toEqual({ released: false, reason: 'taken' })
    expect(foreign).toMatchObject([{ owner: held.owner, holder: next.owner }])
    expect((await bench.other.inspect('a'))?.owner).toBe(next.owner)
  })
})

describe('D11: the network fails at the release', () => {
  test('a second release works', async () => {
    const held = await take({ ttl: 60_000 })
    bench.store.trouble('release', 'swallowed')
    const outcome = await bench.outcomeOf(held.release(), BUDGET)
    expect(outcome).toMatchObject({ error: { code: 'STORE_UNAVAILABLE' } })
    expect(await isFree()).toBe(false)
    bench.store.heal()
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    expect(await isFree()).toBe(true)
  })

  test.each(['unanswered', 'cut'] as const)(
    'the answer is lost (%s): the second try says released',
    async (trouble) => {
      const foreign = bench.hear('holdfast:lock:foreign-release')
      const held = await take({ ttl: 60_000 })
      bench.store.trouble('release', trouble)
      await bench.outcomeOf(held.release(), BUDGET)
      bench.store.heal()
      expect(await held.release()).toEqual({ released: true, confirmed: false })
      expect(await held.release()).toEqual({ released: true, confirmed: false })
      expect([held.lost, foreign]).toEqual([null, []])
    },
  )

  test('the answer is lost once within one call: the call says released', async () => {
    const held = await take()
    bench.store.trouble('release', 'cut', { times: 1 })
    expect(await bench.outcomeOf(held.release(), BUDGET)).toEqual({
      value: { released: true, confirmed: false },
    })
  })

  test('the client may have sent it twice and finds nothing: released', async () => {
    const held = await take()
    await bench.other.forceRelease('a', { owner: held.owner })
    bench.store.trouble('release', 'twice', { times: 1 })
    expect(await held.release()).toEqual({ released: true, confirmed: false })
  })

  test('the answer is lost and another holds it by now: released, and no foreign release', async () => {
    const foreign = bench.hear('holdfast:lock:foreign-release')
    const held = await take({ ttl: 60_000 })
    bench.store.trouble('release', 'unanswered')
    await bench.outcomeOf(held.release(), BUDGET)
    const next = await bench.other.lock('a').acquire()
    bench.store.heal()
    expect(await held.release()).toEqual({ released: true, confirmed: false })
    expect((await bench.other.inspect('a'))?.owner).toBe(next.owner)
    expect(foreign).toEqual([])
  })

  test('the server refused it, and the lock then ended by itself: expired, not released', async () => {
    const held = await take()
    bench.store.trouble('release', 'refused')
    const outcome = await bench.outcomeOf(held.release(), BUDGET)
    expect(outcome).toMatchObject({ error: { code: 'STORE_REFUSED', retryable: true } })
    bench.store.heal()
    expect(await held.release()).toEqual({ released: false, reason: 'expired' })
  })

  test('a stale release after a newer acquire of the same process does nothing', async () => {
    const held = await take({ ttl: 60_000 })
    bench.store.trouble('release', 'swallowed')
    await bench.outcomeOf(held.release(), BUDGET)
    bench.store.heal()
    const newer = await bench.hf.lock('a').acquire()
    expect(await held.release()).toMatchObject({ released: true, confirmed: false })
    expect((await bench.other.inspect('a'))?.owner).toBe(newer.owner)
    newer.assertHeld()
  })

  test('a release that was held up arrives after a newer acquire of the same process, and does nothing', async () => {
    const held = await take({ ttl: 60_000 })
    bench.store.trouble('release', { arrivesAfter: 2 * BUDGET }, { times: 1 })
    const released = await bench.outcomeOf(held.release(), BUDGET)
    expect(released).toEqual({ value: { released: true, confirmed: true } })
    const newer = await bench.hf.lock('a').acquire()
    await bench.clock.advance(3 * BUDGET)
    expect((await bench.other.inspect('a'))?.owner).toBe(newer.owner)
    expect(newer.lost).toBeNull()
  })
})

describe('disposing', () => {
  test('gives it back', async () => {
    const held = await take()
    await held[Symbol.asyncDispose]()
    expect(await isFree()).toBe(true)
  })

  test.each(['swallowed', 'refused', 'unsent', 'cut', 'unanswered'] as const)(
    'never throws, whatever the store does (%s)',
    async (trouble) => {
      const failed = bench.hear('holdfast:lock:release-failed')
      const held = await take()
      bench.store.trouble('release', trouble)
      expect(await bench.outcomeOf(held[Symbol.asyncDispose](), BUDGET)).toEqual({ value: undefined })
      expect(failed).toHaveLength(1)
    },
  )

  test('of a lost lock tells the loss by event and by held.lost', async () => {
    const losses = bench.hear('holdfast:lock:lost')
    const held = await take({ renew: false })
    bench.clock.blockFor(TTL)
    await held[Symbol.asyncDispose]()
    expect(losses).toMatchObject([{ reason: 'expired' }])
    expect(held.lost).toBe('expired')
  })
})

test('an ask that finds a key of its own process which nobody holds any more leaves no place in the queue', async () => {
  const lock = bench.hf.lock('a', { ttl: 10_000, renew: false, wait: 5_000 })
  const first = await lock.acquire()
  // Its time is over here, and not yet on the store.
  await bench.clock.advance(9_950)
  expect(first.lost).toBe('expired')
  const second = await lock.acquire()
  expect(await bench.other.inspect('a')).toMatchObject({ owner: second.owner, waiters: 0 })
})
