import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ClosedError } from '../errors.ts'
import { LockBench } from '../testing/lock-bench.ts'
import type { Held } from './held.ts'

/**
 * Goal: after `close()` nothing of an instance is left: no lock (or each to its expiry, by option), no timer, no call.
 * Method: a virtual clock that counts timers, and a store that counts calls and answers only when the test lets it.
 */

const TTL = 900
const BUDGET = 1_000

let bench: LockBench

beforeEach(() => {
  bench = new LockBench()
})

afterEach(() => bench.end())

const takeMany = (count: number) =>
  Promise.all(Array.from({ length: count }, (_, i) => bench.hf.lock(`lock ${i}`, { ttl: TTL }).acquire()))

async function stillHeld(count: number): Promise<number> {
  const found = await Promise.all(Array.from({ length: count }, (_, i) => bench.other.inspect(`lock ${i}`)))
  return found.filter((record) => record !== null).length
}

/** Lets a long time pass and tells how many calls were made in it. */
async function callsAfterwards(): Promise<number> {
  const before = bench.store.calls.length
  await bench.clock.advance(60_000)
  return bench.store.calls.length - before
}

describe('C12: close()', () => {
  test('gives back what is held, tells the holders, and leaves no timer and no call', async () => {
    const held = await takeMany(50)
    const signals = held.map(({ signal }) => signal)
    await bench.clock.advance(2 * TTL)
    expect(await stillHeld(50)).toBe(50)
    await bench.hf.close()
    expect(await stillHeld(50)).toBe(0)
    expect(bench.clock.pendingTimers).toBe(0)
    for (const signal of signals)
      expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'released' })
    for (const each of held) {
      expect([each.lost, each.remaining()]).toEqual([null, 0])
      expect(() => each.assertHeld()).toThrow('its holder has released it already')
    }
    expect(await callsAfterwards()).toBe(0)
  })

  test('with release: false it leaves them to their expiry, renews them no more, and tells the holders all the same', async () => {
    const held = await takeMany(50)
    await bench.hf.close({ release: false })
    expect(await stillHeld(50)).toBe(50)
    expect([bench.clock.pendingTimers, bench.store.count('release')]).toEqual([0, 0])
    expect(held.every(({ signal }) => signal.aborted)).toBe(true)
    await bench.clock.advance(TTL)
    expect(await stillHeld(50)).toBe(0)
    expect(await callsAfterwards()).toBe(0)
  })

  test('a holder that looks only while its lock is being given back is told as well', async () => {
    const [held] = (await takeMany(1)) as [Held]
    bench.store.trouble('release', 'unanswered')
    const closing = bench.hf.close()
    expect([held.signal.aborted, held.remaining(), held.lost]).toEqual([true, 0, null])
    expect(held.signal.reason).toMatchObject({ reason: 'released' })
    await bench.outcomeOf(closing, 2 * BUDGET)
  })

  test('what was left to expire is not said to be released', async () => {
    const [held] = (await takeMany(1)) as [Held]
    const running = bench.hf.lock('b', { ttl: TTL }).run(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return 'done'
    })
    await bench.clock.advance(10)
    await bench.hf.close({ release: false })
    await expect(held.release()).rejects.toThrow(ClosedError)
    expect(await running).toBe('done')
    expect(await stillHeld(1)).toBe(1)
  })

  test('rejects who waits, at once, and everything that is asked later', async () => {
    await bench.other.lock('a', { ttl: 60_000 }).acquire()
    await bench.clock.advance(200)
    const timers = bench.clock.pendingTimers
    const waiting = [1, 2, 3].map(() => bench.hf.lock('a').acquire({ wait: '1m' }))
    const ends = waiting.map((each) => each.then(String, (error: unknown) => error))
    await bench.clock.advance(100)
    await bench.hf.close()
    for (const end of ends) expect(await end).toBeInstanceOf(ClosedError)
    expect(bench.clock.pendingTimers).toBe(timers)
    await expect(bench.hf.lock('b').tryAcquire()).rejects.toThrow(ClosedError)
    await expect(bench.hf.lock('b').run(() => 1)).rejects.toThrow(ClosedError)
    await expect(bench.hf.inspect('b')).rejects.toThrow(ClosedError)
    await expect(bench.hf.forceRelease('b')).rejects.toThrow(ClosedError)
    expect(await callsAfterwards()).toBe(0)
  })

  test.each(['swallowed', 'unanswered', 'refused', 'unsent', 'cut'] as const)(
    'settles within two budgets and never rejects, whatever the store does (%s); nothing is called afterwards',
    async (trouble) => {
      await takeMany(3)
      await bench.clock.advance(TTL / 2)
      bench.store.trouble('release', trouble)
      bench.store.trouble('renew', trouble)
      const outcome = await bench.outcomeOf(bench.hf.close(), 2 * BUDGET)
      expect(outcome).toEqual({ value: undefined })
      expect(bench.clock.pendingTimers).toBe(0)
      bench.store.heal()
      expect(await callsAfterwards()).toBe(0)
    },
  )

  test('does not wait longer than two budgets for what is being tidied up, and gives it up then', async () => {
    bench.store.trouble('acquire', 'unanswered')
    bench.store.trouble('release', 'swallowed')
    await bench.outcomeOf(bench.hf.lock('a', { ttl: 60_000 }).tryAcquire(), BUDGET)
    const closing = bench.outcomeOf(bench.hf.close(), 2 * BUDGET)
    expect(await closing).toEqual({ value: undefined })
    expect(bench.clock.pendingTimers).toBe(0)
    bench.store.heal()
    expect(await callsAfterwards()).toBe(0)
  })

  test('waits for what is being tidied up', async () => {
    bench.store.trouble('acquire', 'unanswered')
    const failed = bench.hf.lock('a', { ttl: 60_000 }).tryAcquire()
    await bench.outcomeOf(failed, BUDGET)
    await bench.outcomeOf(bench.hf.close(), 2 * BUDGET)
    expect(await bench.other.inspect('a')).toBeNull()
    expect([bench.clock.pendingTimers, await callsAfterwards()]).toEqual([0, 0])
  })

  test('tries again soon while it closes: what is there in time is given back', async () => {
    const quick = new LockBench({ budget: 100 })
    quick.store.trouble('acquire', 'unanswered')
    quick.store.trouble('release', 'unsent')
    await quick.outcomeOf(quick.hf.lock('a', { ttl: 60_000 }).tryAcquire(), 100)
    // Its pauses are a second long by now.
    await quick.clock.advance(10_000)
    const closing = quick.hf.close()
    await quick.clock.advance(150)
    quick.store.heal()
    await quick.clock.advance(50)
    await closing
    expect(await quick.other.inspect('a')).toBeNull()
    expect(quick.clock.pendingTimers).toBe(0)
  })

  test('rejects an acquire that is under way, at once, and does not leave its lock behind', async () => {
    bench.store.trouble('acquire', { answeredAfter: 200 })
    const acquiring = bench.hf.lock('a', { ttl: 60_000 }).tryAcquire()
    let end: unknown = null
    void acquiring.then(String, (error: unknown) => error).then((outcome) => (end = outcome))
    await bench.clock.settle()
    const closing = bench.hf.close()
    await bench.clock.settle()
    expect(end).toBeInstanceOf(ClosedError)
    await bench.outcomeOf(closing, 2 * BUDGET)
    expect(await bench.other.inspect('a')).toBeNull()
    expect([bench.clock.pendingTimers, await callsAfterwards()]).toEqual([0, 0])
  })

  test.each(['inspect', 'forceRelease'] as const)(
    'waits for %s, and sends nothing after it',
    async (call) => {
      const [held] = await takeMany(1)
      bench.store.trouble('inspect', { answeredAfter: 50 })
      const order: string[] = []
      const called = bench.hf[call]('lock 0').then(
        () => order.push('called'),
        (error: unknown) => order.push((error as ClosedError).code),
      )
      const closed = bench.hf.close({ release: false }).then(() => order.push('closed'))
      await bench.clock.advance(50)
      await Promise.all([called, closed])
      // Once the holder is known it is too late to take the lock away.
      expect(order).toEqual([call === 'inspect' ? 'called' : 'CLOSED', 'closed'])
      expect([bench.store.count('force'), await callsAfterwards()]).toEqual([0, 0])
      expect(held?.lost).not.toBe('forced')
    },
  )

  test('called twice is one close', async () => {
    await takeMany(2)
    await Promise.all([bench.hf.close(), bench.hf.close({ release: false })])
    await bench.hf.close()
    expect([bench.store.count('release'), await stillHeld(2)]).toEqual([2, 0])
  })

  test('disposing of the instance is the same', async () => {
    await takeMany(2)
    await bench.hf[Symbol.asyncDispose]()
    expect([bench.clock.pendingTimers, await stillHeld(2)]).toEqual([0, 0])
  })
})
