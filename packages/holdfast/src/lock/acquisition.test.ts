import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LockBench } from '../testing/lock-bench.ts'

/**
 * Goal: what became of an acquire is always known in the end: got once, or nothing of ours is left.
 * Method: a store whose answers and requests are lost, late or doubled, under a virtual clock; another process without
 * trouble looks at what is really there.
 */

const BUDGET = 1_000
const TRY = BUDGET / 3

let bench: LockBench

beforeEach(() => {
  bench = new LockBench()
})

afterEach(() => bench.end())

const pass = (ms: number) => bench.clock.advance(ms)
const now = () => bench.clock.monotonic()
const isFree = async () => (await bench.other.inspect('a')) === null

describe('a lost answer', () => {
  test.each([
    ['cut', 25],
    ['unanswered', TRY],
  ] as const)('A2: (%s) the lock is had by the next try: one owner, one fence', async (trouble, after) => {
    bench.store.trouble('acquire', trouble, { times: 1 })
    const acquiring = bench.hf.lock('a').acquire()
    await bench.clock.settle()
    const first = await bench.other.inspect('a')
    const began = now()
    const outcome = await bench.outcomeOf(acquiring, after + 1)
    expect(now() - began).toBeLessThan(after + 2)
    expect(outcome).toMatchObject({ value: { owner: first?.owner, fence: first?.fence } })
    expect(await bench.other.inspect('a')).toMatchObject({ owner: first?.owner, fence: first?.fence })
    expect(bench.store.count('acquire')).toBe(2)
  })

  test('A2: tryAcquire never calls its own key busy, nor leaves it behind', async () => {
    bench.store.trouble('acquire', 'cut', { times: 2 })
    const outcome = await bench.outcomeOf(bench.hf.lock('a').tryAcquire(), BUDGET)
    expect(outcome).toMatchObject({ value: { lost: null } })
    if ('value' in outcome) await outcome.value?.release()
    await pass(3 * BUDGET)
    expect(await isFree()).toBe(true)
    expect(bench.clock.pendingTimers).toBe(0)
  })

  test('lost to the end: StoreUnavailable, and the key is gone within the budget', async () => {
    bench.store.trouble('acquire', 'unanswered')
    const outcome = await bench.outcomeOf(bench.hf.lock('a').tryAcquire(), BUDGET)
    expect(outcome).toMatchObject({ error: { code: 'STORE_UNAVAILABLE', outcome: 'unknown' } })
    expect(bench.store.count('acquire')).toBe(3)
    await bench.clock.settle()
    expect(await isFree()).toBe(true)
    // Until no copy of it can be granted any more it is cleared away again.
    await pass(3 * BUDGET)
    expect(bench.store.count('release')).toBeGreaterThanOrEqual(2)
    expect(bench.clock.pendingTimers).toBe(0)
  })

  test('while it waits, it goes on under a new owner after the budget', async () => {
    bench.store.trouble('acquire', 'unanswered', { times: 3 })
    const acquiring = bench.hf.lock('a', { wait: 5_000 }).acquire()
    await bench.clock.settle()
    const first = await bench.other.inspect('a')
    const outcome = await bench.outcomeOf(acquiring, BUDGET + 200)
    expect(outcome).toMatchObject({ value: { lost: null } })
    const second = await bench.other.inspect('a')
    expect(second?.owner).not.toBe(first?.owner)
    expect(second?.fence).toBeGreaterThan(first?.fence ?? 0n)
    await pass(60_000)
    expect(await bench.other.inspect('a')).toMatchObject({ owner: second?.owner })
  })
})

describe('a late answer', () => {
  test('A1: a grant whose time is over is never handed on, and its key is removed', async () => {
    bench.store.trouble('acquire', { answeredAfter: 600 }, { times: 1 })
    const lock = bench.hf.lock('a', { ttl: 300, wait: 0 })
    const outcome = await bench.outcomeOf(lock.acquire(), 2 * BUDGET)
    // Asked again meanwhile by the second try, whose grant is good.
    expect(outcome).toMatchObject({ value: { lost: null } })

    const slow = new LockBench()
    slow.store.trouble('acquire', { answeredAfter: 320 })
    const none = await slow.outcomeOf(slow.hf.lock('a', { ttl: 300, wait: 0 }).acquire(), 325)
    expect(none).toMatchObject({ error: { code: 'STORE_UNAVAILABLE', outcome: 'not-done' } })
    expect(await slow.other.inspect('a')).toBeNull()
    await slow.clock.advance(5_000)
    expect(slow.clock.pendingTimers).toBe(0)
    slow.end()
  })

  test('A1: while it waits, a grant that came too late is cleared away and asked for again', async () => {
    bench.store.trouble('acquire', { answeredAfter: 320 }, { times: 1 })
    const outcome = await bench.outcomeOf(bench.hf.lock('a', { ttl: 300, wait: 5_000 }).acquire(), 1_000)
    expect(outcome).toMatchObject({ value: { lost: null } })
  })

  test('the time of a slow grant counts from when it was sent', async () => {
    bench.store.trouble('acquire', { answeredAfter: 300 }, { times: 1 })
    const outcome = await bench.outcomeOf(bench.hf.lock('a', { ttl: 1_000, renew: false }).acquire(), 300)
    if (!('value' in outcome)) throw new Error('it was not granted')
    expect(outcome.value.remaining()).toBe(1_000 - 12 - 300)
  })
})

describe('one that is given up', () => {
  test('A8: in flight: rejects at once, and what was granted is gone within a moment', async () => {
    for (const wait of [0, 5_000]) {
      bench.store.trouble('acquire', 'unanswered', { times: 1 })
      const controller = new AbortController()
      const acquiring = bench.hf.lock('a', { wait }).acquire({ signal: controller.signal })
      const ended = acquiring.then(
        () => null,
        (error: unknown) => ({ error, at: now() }),
      )
      await pass(100)
      expect(await isFree()).toBe(false)
      controller.abort(new Error('enough'))
      expect(await ended).toMatchObject({ error: { message: 'enough' }, at: now() })
      await bench.clock.settle()
      expect(await isFree()).toBe(true)
      const asked = bench.store.count('acquire')
      await pass(10 * BUDGET)
      expect(bench.store.count('acquire')).toBe(asked)
      expect(bench.clock.pendingTimers).toBe(0)
    }
  })

  test('A8: in the moment of the answer: nobody has it, and nothing is left', async () => {
    for (let turns = 0; turns < 12; turns += 1) {
      const controller = new AbortController()
      const acquiring = bench.hf.lock('a').acquire({ signal: controller.signal })
      const ended = acquiring.then(
        (held) => held,
        () => null,
      )
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
      controller.abort()
      const held = await ended
      await bench.clock.settle()
      expect(await isFree()).toBe(held === null)
      await held?.release()
      await pass(3 * BUDGET)
    }
  })

  test('D17: a request that arrives after it was given up leaves no key behind, within the budget and beyond', async () => {
    for (const delay of [200, 900, 1_500, 40_000]) {
      bench.store.trouble('acquire', { arrivesAfter: delay }, { times: 1 })
      const controller = new AbortController()
      const acquiring = bench.hf.lock('a').acquire({ signal: controller.signal })
      const ended = acquiring.catch((error: unknown) => error)
      await pass(50)
      controller.abort(new Error('enough'))
      expect(await ended).toMatchObject({ message: 'enough' })
      await pass(delay)
      await pass(BUDGET)
      expect(await isFree()).toBe(true)
      await pass(60_000)
      expect(bench.clock.pendingTimers).toBe(0)
    }
  })

  test('D17: a request that arrives after its owner has released leaves no key behind', async () => {
    // The first copy is held up; the second is granted and released; then the first arrives.
    for (const delay of [500, 900]) {
      bench.store.trouble('acquire', { arrivesAfter: delay }, { times: 1 })
      const acquiring = bench.hf.lock('a').acquire()
      const outcome = await bench.outcomeOf(acquiring, TRY + 5)
      if (!('value' in outcome)) throw new Error('it was not granted')
      expect(await outcome.value.release()).toEqual({ released: true, confirmed: true })
      expect(await isFree()).toBe(true)
      await pass(2 * BUDGET)
      expect(await isFree()).toBe(true)
      await pass(BUDGET)
      expect(bench.clock.pendingTimers).toBe(0)
    }
  })

  test('A7: after the wait ran out: no key of ours, no timer, no call, though copies of the last ask come late', async () => {
    const holder = await bench.other.lock('a').acquire()
    bench.store.trouble('acquire', { arrivesAfter: 400 })
    const outcome = await bench.outcomeOf(bench.hf.lock('a', { wait: 500 }).acquire(), 500 + BUDGET + 100)
    expect(outcome).toMatchObject({ error: { code: 'LOCK_TIMEOUT', holder: holder.owner } })
    await holder.release()
    await pass(BUDGET)
    expect(await isFree()).toBe(true)
    await pass(BUDGET)
    const calls = bench.store.calls.length
    await pass(60_000)
    expect(bench.store.calls.length).toBe(calls)
    expect(await isFree()).toBe(true)
    expect(bench.clock.pendingTimers).toBe(0)
  })
})

describe('a lock that is held by a dead owner of this very process', () => {
  test('A3: is cleared and taken, instead of being called busy', async () => {
    bench.store.trouble('acquire', 'unanswered', { times: 3 })
    bench.store.trouble('release', 'swallowed')
    const lost = await bench.outcomeOf(bench.hf.lock('a').tryAcquire(), BUDGET)
    expect(lost).toMatchObject({ error: { code: 'STORE_UNAVAILABLE' } })
    const dead = await bench.other.inspect('a')
    expect(dead).not.toBeNull()
    bench.store.heal()
    const held = await bench.hf.lock('a').tryAcquire()
    expect(held?.owner).toBeDefined()
    expect(held?.owner).not.toBe(dead?.owner)
    expect(held?.fence).toBeGreaterThan(dead?.fence ?? 0n)
    await pass(60_000)
    expect(held?.lost).toBeNull()
  })

  test('a living owner of this process is busy as any other', async () => {
    const held = await bench.hf.lock('a').acquire()
    expect(await bench.hf.lock('a').tryAcquire()).toBeNull()
    expect(bench.store.count('release')).toBe(0)
    held.assertHeld()
  })
})
