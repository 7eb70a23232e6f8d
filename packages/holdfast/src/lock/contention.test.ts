import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bounds } from '../defaults.ts'
import { listen } from '../events/channels.ts'
import { createHoldfast, type Holdfast } from '../holdfast.ts'
import { lockAddress } from '../name.ts'
import { Attempt } from '../store/attempt.ts'
import { OwnerMint } from '../store/owner.ts'
import { LockBench } from '../testing/lock-bench.ts'
import { seededRandomness } from '../testing/seeded-randomness.ts'
import type { Held } from './held.ts'
import { backoff, interval } from './retry.ts'

/**
 * Goal: waiting is bounded, fair within a process, cheap for the store, and ends as soon as the lock is free.
 * Method: two processes over one store in memory, a virtual clock that makes every millisecond exact, and a store that
 * counts its calls, is deaf, slow or silent when a test wants it so.
 */

/** The longest poll of a waiter that could be woken. */
const LONGEST_POLL = bounds.safetyPoll * 1.25
const BUDGET = 1_000

let bench: LockBench

beforeEach(() => {
  bench = new LockBench()
})

afterEach(() => bench.end())

const pass = (ms: number) => bench.clock.advance(ms)
const now = () => bench.clock.monotonic()
const later = (ms: number) => new Promise<void>((resolve) => void bench.clock.setTimer(resolve, ms))
const waitersOf = async () => (await bench.other.inspect('a'))?.waiters ?? 0

/** Starts an acquire of the first process, and tells how it ended, and when. */
function waiting(options: Parameters<Holdfast['lock']>[1] = {}, call: { signal?: AbortSignal } = {}) {
  const ended: { held: Held | null; error: unknown; at: number | null } = {
    held: null,
    error: null,
    at: null,
  }
  void bench.hf
    .lock('a', { wait: 60_000, ...options })
    .acquire(call)
    .then(
      (held) => Object.assign(ended, { held, at: now() }),
      (error: unknown) => Object.assign(ended, { error, at: now() }),
    )
  return ended
}

describe('a waiter in the queue', () => {
  test('is woken by the release of another process, at once', async () => {
    const holder = await bench.other.lock('a').acquire()
    const ended = waiting()
    await pass(300)
    expect(ended.at).toBeNull()
    const releasedAt = now()
    await holder.release()
    await bench.clock.settle()
    expect(ended).toMatchObject({ at: releasedAt, error: null })
    expect(bench.store.count('acquire')).toBe(2)
  })

  test('L6: gets in by its poll when the wake-up is lost', async () => {
    const holder = await bench.other.lock('a').acquire()
    const ended = waiting()
    bench.store.deafen()
    await pass(5_000)
    const releasedAt = now()
    await holder.release()
    await pass(LONGEST_POLL)
    expect(ended.held).not.toBeNull()
    expect((ended.at as number) - releasedAt).toBeLessThanOrEqual(LONGEST_POLL)
  })

  test('asks when the lease that it saw ends, so that the lock of a dead holder is not left lying', async () => {
    await bench.other.lock('a', { ttl: 300, renew: false }).acquire()
    const began = now()
    const ended = waiting()
    await pass(1_000)
    expect((ended.at as number) - began).toBeGreaterThanOrEqual(300)
    expect((ended.at as number) - began).toBeLessThanOrEqual(300 + 1 + bounds.storePoll)
  })

  test('a wake-up that comes while an ask is in flight is kept', async () => {
    const holder = await bench.other.lock('a').acquire()
    bench.store.trouble('acquire', { answeredAfter: 100 }, { times: 1 })
    const ended = waiting()
    await pass(50)
    const releasedAt = now()
    await holder.release()
    await pass(60)
    expect(ended.held).not.toBeNull()
    expect((ended.at as number) - releasedAt).toBe(50)
  })

  test('D3: asks again when pushes may have been lost', async () => {
    const holder = await bench.other.lock('a').acquire()
    const ended = waiting()
    await pass(100)
    bench.store.deafen()
    await holder.release()
    await pass(10)
    expect(ended.at).toBeNull()
    bench.store.gap()
    await bench.clock.settle()
    expect(ended.held).not.toBeNull()
  })

  test('D8: asks about once a second, also when the leases it waits for are short', async () => {
    for (const ttl of [50, 100, 500, 30_000]) {
      const holder = await bench.other.lock('a', { ttl }).acquire()
      const before = bench.store.count('acquire')
      const ended = waiting()
      await pass(10_000)
      expect(ended.at).toBeNull()
      expect(bench.store.count('acquire') - before).toBeLessThan(50)
      await holder.release()
      await bench.clock.settle()
      await ended.held?.release()
    }
  })

  test('gives signs of life, so that it is never passed over', async () => {
    const holder = await bench.other.lock('a').acquire()
    waiting()
    for (let seconds = 0; seconds < 20; seconds += 1) {
      await pass(1_000)
      expect(await waitersOf()).toBe(1)
    }
    await holder.release()
  })

  test('does not stand in the queue any more when it has the lock, or has gone', async () => {
    const holder = await bench.other.lock('a').acquire()
    const first = waiting()
    await pass(100)
    expect(await waitersOf()).toBe(1)
    await holder.release()
    await bench.clock.settle()
    expect(await waitersOf()).toBe(0)
    await first.held?.release()
    const again = await bench.other.lock('a').acquire()
    const controller = new AbortController()
    waiting({}, { signal: controller.signal })
    await pass(100)
    expect(await waitersOf()).toBe(1)
    controller.abort()
    await bench.clock.settle()
    expect(await waitersOf()).toBe(0)
    await again.release()
  })

  test('who leaves while the lock is free wakes the next', async () => {
    const holder = await bench.other.lock('a').acquire()
    // The first in the queue is deaf, and goes before its poll.
    const controller = new AbortController()
    waiting({}, { signal: controller.signal })
    await pass(10)
    let at: number | null = null
    void bench.other
      .lock('a', { wait: 10_000 })
      .acquire()
      .then(() => (at = now()))
    await pass(10)
    bench.store.deafen()
    await bench.other.forceRelease('a', { owner: holder.owner })
    controller.abort()
    await pass(1)
    expect(at).not.toBeNull()
  })
})

describe('many waiters of one process', () => {
  test('L6: cost the store no more than one', async () => {
    const holder = await bench.other.lock('a').acquire()
    const all = Array.from({ length: 200 }, () => waiting())
    await pass(10_000)
    expect(bench.store.count('acquire')).toBeLessThanOrEqual(15)
    expect(await waitersOf()).toBe(1)
    expect(all.every(({ at }) => at === null)).toBe(true)
    await holder.release()
  })

  test('have their turns in the order in which they came', async () => {
    const holder = await bench.hf.lock('a').acquire()
    const order: number[] = []
    const all = Array.from({ length: 20 }, async (_, n) => {
      await bench.hf.lock('a', { wait: 60_000 }).run(async () => {
        order.push(n)
        await later(10)
      })
    })
    await pass(100)
    await holder.release()
    await pass(1_000)
    await Promise.all(all)
    expect(order).toEqual(Array.from({ length: 20 }, (_, n) => n))
  })

  test('A9: each gets the lease that it asked for, though they wait in one line', async () => {
    const holder = await bench.other.lock('a').acquire()
    const ttls = [10_000, 700, 60_000, 50, 3_000]
    const lock = bench.hf.lock('a', { wait: 60_000, renew: false })
    const remaining: (number | null | undefined)[] = []
    const all = ttls.map((ttl) =>
      lock.run(
        async (held) => {
          remaining.push((await bench.hf.inspect('a'))?.remaining)
          expect(held.remaining()).toBeLessThanOrEqual(ttl)
          expect(held.remaining()).toBeGreaterThan(ttl * 0.9)
        },
        { ttl },
      ),
    )
    await pass(100)
    await holder.release()
    await pass(1_000)
    await Promise.all(all)
    expect(remaining).toEqual(ttls)
  })

  test('each has its own wait, its own end, and leaves the others alone', async () => {
    const holder = await bench.other.lock('a').acquire()
    const began = now()
    const controller = new AbortController()
    const short = waiting({ wait: 500 })
    const long = waiting({ wait: 10_000 })
    const aborted = waiting({}, { signal: controller.signal })
    const middle = waiting({ wait: 1_000 })
    await pass(200)
    controller.abort(new Error('enough'))
    await pass(4_000)
    expect(aborted).toMatchObject({ at: began + 200, error: { message: 'enough' } })
    expect(short).toMatchObject({ at: began + 500, error: { code: 'LOCK_TIMEOUT' } })
    expect(middle).toMatchObject({ at: began + 1_000, error: { code: 'LOCK_TIMEOUT' } })
    expect(long.at).toBeNull()
    await holder.release()
    await bench.clock.settle()
    expect(long.held).not.toBeNull()
  })

  test('the next in line goes on at once when the first leaves', async () => {
    const holder = await bench.other.lock('a').acquire()
    bench.store.deafen()
    const first = new AbortController()
    waiting({}, { signal: first.signal })
    const second = waiting()
    await pass(100)
    await holder.release()
    first.abort()
    await bench.clock.settle()
    expect(second.held).not.toBeNull()
  })
})

describe('many processes', () => {
  /** The most of the times that lie within so many milliseconds. */
  const mostWithin = (ms: number, times: readonly number[]): number =>
    Math.max(...times.map((first) => times.filter((at) => at >= first && at <= first + ms).length))

  test('D8: 200 of them never come in a rush: not by their polls, and not when a lease ends of which all know', async () => {
    const { clock, store } = bench
    await bench.other.lock('a', { ttl: 3_000, renew: false }).acquire()
    const began = now()
    const all = Array.from({ length: 200 }, (_, n) =>
      createHoldfast({ clock, store, randomness: seededRandomness(100 + n) }),
    )
    let got = 0
    for (const hf of all) {
      const waits = hf.lock('a', { wait: 60_000 }).run(async () => {
        got += 1
        await later(60_000)
      })
      waits.catch(() => undefined)
    }
    await pass(10_000)
    expect(got).toBe(1)
    // The very first asks are as their callers were.
    const asks = store.times('acquire').filter((at) => at > began)
    expect(asks.length).toBeGreaterThan(200 * 8)
    expect(asks.length).toBeLessThan(200 * 10 * 5)
    expect(mostWithin(5, asks)).toBeLessThan(100)
  })
})

describe('two processes', () => {
  test.each([1, 3])(
    'L6: whose release found waiters stands back once: the lock goes from hand to hand (%i loops each)',
    async (loops) => {
      const turns: string[] = []
      const loop = async (hf: Holdfast, name: string) => {
        for (let turn = 0; turn < 12 / loops; turn += 1) {
          await hf.lock('a', { wait: 60_000, handOver: false }).run(async () => {
            turns.push(name)
            await later(5)
          })
        }
      }
      const began = now()
      const all = Array.from({ length: loops }, () => [
        loop(bench.hf, 'one'),
        loop(bench.other, 'two'),
      ]).flat()
      const ends = Promise.all(all).then(() => now() - began)
      await pass(30_000)
      expect(turns).toHaveLength(24)
      const repeats = turns.filter((name, n) => n > 0 && turns[n - 1] === name).length
      // The first may have its second turn before the other stands in the queue, the last has nobody to go to.
      expect(repeats).toBeLessThanOrEqual(2)
      // Handed over by wake-ups, not by polls.
      expect(await ends).toBeLessThan(24 * 5 + 2 * LONGEST_POLL)
    },
  )

  test('stands back for what waits only: who asks without waiting is answered at once', async () => {
    const holder = await bench.hf.lock('a').acquire()
    let other: number | null = null
    void bench.other
      .lock('a', { wait: 60_000 })
      .run(() => {
        other = now()
      })
      .catch(() => undefined)
    await pass(10)
    await holder.release()
    const held = await bench.hf.lock('a').tryAcquire()
    expect(held).not.toBeNull()
    expect(other).toBeNull()
    await held?.release()
    await pass(1)
    expect(other).not.toBeNull()
  })

  test('stands back only for a moment: a woken process that does not come is not waited for', async () => {
    const holder = await bench.hf.lock('a').acquire()
    // The other process is gone without a word: its entry stands, but nobody asks for it.
    const gone = bench.store.open({ clock: bench.clock, randomness: seededRandomness(9), prefixes: [] })
    const attempt = new Attempt(now() + BUDGET, now() + BUDGET)
    await gone.locks.acquire(
      {
        address: lockAddress('holdfast:v1', 'a'),
        owner: new OwnerMint(gone.locks.process).next(),
        trace: null,
        ttl: 1_000,
        queue: { join: true, stands: false, yield: false },
      },
      attempt,
    )
    expect(await waitersOf()).toBe(1)
    const own = waiting()
    await pass(100)
    const releasedAt = now()
    expect(await holder.release()).toMatchObject({ released: true })
    await pass(bounds.waiterDeadAfter)
    expect(own.held).not.toBeNull()
    expect((own.at as number) - releasedAt).toBeLessThanOrEqual(2 * LONGEST_POLL)
  })
})

describe('asking again by one’s own strategy', () => {
  test('interval: as often as the interval says, and once more at the end', async () => {
    await bench.other.lock('a').acquire()
    const began = now()
    const ended = waiting({ retry: interval('50ms'), wait: 1_000 })
    await pass(2_000)
    expect(bench.store.times('acquire').map((at) => at - began)).toEqual(
      Array.from({ length: 21 }, (_, n) => n * 50),
    )
    expect(ended).toMatchObject({ at: began + 1_000, error: { code: 'LOCK_TIMEOUT' } })
  })

  test('interval: does not stand in the queue, and is in within one interval', async () => {
    const holder = await bench.other.lock('a').acquire()
    const ended = waiting({ retry: interval(200) })
    await pass(1_050)
    expect(await waitersOf()).toBe(0)
    await holder.release()
    await pass(150)
    expect(ended.held).not.toBeNull()
    expect(bench.store.count('leave')).toBe(0)
  })

  test('backoff: ever more seldom, each within its bound', async () => {
    await bench.other.lock('a').acquire()
    waiting({ retry: backoff({ base: 50, max: 1_000 }), wait: 30_000 })
    await pass(30_000)
    const times = bench.store.times('acquire')
    const pauses = times.slice(1).map((at, n) => at - (times[n] as number))
    pauses.forEach((pause, n) => expect(pause).toBeLessThanOrEqual(Math.min(1_000, 50 * 2 ** (n + 1))))
    // Half a second in the mean, once it has grown.
    expect(pauses.length).toBeGreaterThan(40)
    expect(pauses.length).toBeLessThan(100)
  })

  test('wait: 0 asks once, whatever the strategy', async () => {
    const holder = await bench.other.lock('a').acquire()
    for (const retry of [undefined, interval(10), backoff()]) {
      const before = bench.store.count('acquire')
      const ended = waiting({ wait: 0, ...(retry === undefined ? {} : { retry }) })
      const began = now()
      await pass(1_000)
      expect(ended).toMatchObject({ at: began, error: { code: 'LOCK_TIMEOUT', holder: holder.owner } })
      expect(bench.store.count('acquire') - before).toBe(1)
    }
    expect(await waitersOf()).toBe(0)
  })

  test('tryAcquire never waits, and never stands in the queue', async () => {
    await bench.other.lock('a').acquire()
    expect(await bench.hf.lock('a', { wait: 60_000 }).tryAcquire()).toBeNull()
    expect(bench.store.calls.map(({ call }) => call)).toEqual(['acquire'])
    expect(await waitersOf()).toBe(0)
    expect(bench.clock.pendingTimers).toBeLessThanOrEqual(2)
  })
})

describe('the end of a wait', () => {
  test('L6: says who holds it and how long was waited', async () => {
    const holder = await bench.other.lock('a').acquire()
    const ended = waiting({ wait: 700 })
    await pass(1_000)
    expect(ended.error).toMatchObject({ code: 'LOCK_TIMEOUT', holder: holder.owner, retryable: true })
    expect((ended.error as Error).message).toBe(
      `The lock "a" was not free within 700 ms: held by ${holder.owner}.`,
    )
  })

  test('says it also for those behind the first in line', async () => {
    const holder = await bench.other.lock('a').acquire()
    waiting()
    const ended = waiting({ wait: 700 })
    await pass(1_000)
    expect(ended.error).toMatchObject({ holder: holder.owner })
  })

  test('A7: leaves no entry, no timer, and no command behind', async () => {
    const holder = await bench.other.lock('a', { ttl: '1h' }).acquire()
    const ended = waiting({ wait: 300 })
    await pass(1_000)
    expect(ended.error).toMatchObject({ code: 'LOCK_TIMEOUT' })
    expect(await waitersOf()).toBe(0)
    const calls = bench.store.calls.length
    await pass(5_000)
    expect(bench.store.calls.length).toBe(calls)
    await holder.release()
    expect(await bench.other.inspect('a')).toBeNull()
    expect(bench.clock.pendingTimers).toBe(0)
  })

  test('asks a last time, since a wake-up may have been lost', async () => {
    const holder = await bench.other.lock('a').acquire()
    bench.store.deafen()
    const began = now()
    const ended = waiting({ wait: 600 })
    await pass(100)
    await holder.release()
    await pass(500)
    expect(ended).toMatchObject({ at: began + 600, error: null })
  })

  test('INV-H1: comes within wait and budget while the store is silent, and is StoreUnavailable', async () => {
    bench.store.trouble('acquire', 'swallowed')
    for (const wait of [10, 400, 2_500]) {
      const began = now()
      const ended = waiting({ wait })
      await pass(wait + BUDGET + 100)
      expect(ended.error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
      expect((ended.at as number) - began).toBeGreaterThanOrEqual(wait)
      expect((ended.at as number) - began).toBeLessThanOrEqual(wait + BUDGET)
    }
  })

  test('INV-H1: those behind the first in line do not wait longer than they said', async () => {
    bench.store.trouble('acquire', 'swallowed')
    const began = now()
    waiting({ wait: 60_000 })
    const behind = waiting({ wait: 500 })
    await pass(600)
    expect(behind).toMatchObject({ at: began + 500 })
  })

  test('a store that comes back in time is enough', async () => {
    bench.store.trouble('acquire', 'swallowed')
    const ended = waiting({ wait: 10_000 })
    await pass(4_000)
    bench.store.heal()
    await pass(1_500)
    expect(ended.held).not.toBeNull()
    expect(await bench.hf.inspect('a')).toMatchObject({ owner: ended.held?.owner })
  })

  test('a refusal that may pass is asked again while the wait lasts, and then told as what it is', async () => {
    bench.store.trouble('acquire', 'refused')
    const began = now()
    const ended = waiting({ wait: 2_500 })
    await pass(4_000)
    expect(ended.error).toMatchObject({ code: 'STORE_REFUSED', outcome: 'not-done', retryable: true })
    expect((ended.at as number) - began).toBeGreaterThanOrEqual(2_500)
    expect((ended.at as number) - began).toBeLessThanOrEqual(3_500)
  })
})

describe('closing', () => {
  test('A8: rejects every waiter at once, in line or in flight, and leaves the queue', async () => {
    const holder = await bench.other.lock('a').acquire()
    const began = now()
    const waiters = [waiting(), waiting(), waiting()]
    await pass(100)
    bench.store.trouble('acquire', 'unanswered', { key: 'holdfast:v1:{b}:lock' })
    const inFlight = bench.hf.lock('b', { wait: 60_000 }).acquire()
    const flown = inFlight.then(
      () => null,
      (error: unknown) => ({ error, at: now() }),
    )
    await bench.clock.settle()
    const closing = bench.hf.close()
    await bench.clock.settle()
    for (const { error, at } of waiters) {
      expect(error).toMatchObject({ code: 'CLOSED' })
      expect(at).toBe(began + 100)
    }
    expect(await flown).toMatchObject({ error: { code: 'CLOSED' }, at: began + 100 })
    await pass(3_000)
    await closing
    expect(await waitersOf()).toBe(0)
    expect(await bench.other.inspect('b')).toBeNull()
    await holder.release()
    expect(bench.clock.pendingTimers).toBe(0)
  })
})

describe('those who listen to events', () => {
  test('may end the next waiter while the one before is told: nothing of it stays behind', async () => {
    const holder = await bench.other.lock('a').acquire()
    const controller = new AbortController()
    const first = waiting()
    const next = waiting({}, { signal: controller.signal })
    await pass(100)
    const stop = listen('holdfast:lock:acquired', () => controller.abort())
    await holder.release()
    await pass(10)
    stop()
    expect(next.error).toMatchObject({ name: 'AbortError' })
    await first.held?.release()
    await pass(BUDGET)
    expect(await bench.other.inspect('a')).toBeNull()
    await pass(60_000)
    expect(await bench.other.lock('a').tryAcquire()).not.toBeNull()
  })

  test('may close everything', async () => {
    const holder = await bench.other.lock('a').acquire()
    const ends = [waiting(), waiting(), waiting()]
    await pass(100)
    const stop = listen('holdfast:lock:acquired', () => void bench.hf.close())
    await holder.release()
    await pass(3 * BUDGET)
    stop()
    expect(ends.slice(1).map(({ error }) => (error as { code: string }).code)).toEqual(['CLOSED', 'CLOSED'])
    expect(await bench.other.inspect('a')).toBeNull()
    expect(bench.clock.pendingTimers).toBe(0)
  })
})

describe('a way of asking again of the caller’s own making', () => {
  test.each([NaN, -1, '50', undefined, Promise.resolve(50)])(
    'that gives no time (%s) rejects the call',
    async (ms) => {
      await bench.other.lock('a').acquire()
      const { error } = await settled(waiting({ retry: { delay: () => ms as number } }))
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', option: 'retry.delay' })
    },
  )

  test('that throws rejects the call with that', async () => {
    await bench.other.lock('a').acquire()
    const delay = (): number => {
      throw new Error('no')
    }
    const { error } = await settled(waiting({ retry: { delay } }))
    expect(error).toMatchObject({ message: 'no' })
  })

  async function settled<T>(ended: T): Promise<T> {
    await pass(10)
    return ended
  }
})
