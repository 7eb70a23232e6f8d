import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ClosedError, RateLimitedError } from '../errors.ts'
import { LimiterBench } from '../testing/limiter-bench.ts'
import type { Decision } from './decision.ts'
import type { Limiter } from './limiter.ts'
import { concurrency, leakyBucket, slidingWindow, tokenBucket } from './policies.ts'

/**
 * Goal: those who wait are served in order, leave no trace when they leave, and cost the store one ask when there may be room.
 * Method: a virtual clock; calls of the store are counted.
 */

let bench: LimiterBench
let ended: string[]

beforeEach(() => {
  bench = new LimiterBench()
  ended = []
})

afterEach(async () => {
  bench.heal()
  await Promise.all([bench.hf.close(), bench.other.close()])
  bench.end()
})

/** Waits, and notes under a name how that ended. */
function wait(limiter: Limiter, name: string, options: object = {}): Promise<Decision | Error> {
  return limiter.waitFor('u', { wait: '1h', ...options }).then(
    (decision) => {
      ended.push(name)
      return decision
    },
    (error: Error) => {
      ended.push(`${name}: ${(error as { reason?: string }).reason ?? error.message}`)
      return error
    },
  )
}

const oneASecond = tokenBucket({ capacity: 5, refill: 1, per: '1s' })

describe('waiting for capacity', () => {
  test('resolves with a decision when there is room, and asks only when there may be', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1, per: '10s' }))
    await limiter.take('u')
    const before = bench.count()
    const waiting = limiter.waitFor('u', { wait: '20s' })
    await bench.clock.advance(9_999)
    expect(bench.count()).toBe(before + 1)
    await bench.clock.advance(1)
    expect(await waiting).toMatchObject({ allowed: true, source: 'store' })
    expect(bench.count()).toBe(before + 2)
  })

  test('in the order in which they came; only the first asks', async () => {
    const limiter = bench.hf.limiter('api', oneASecond)
    await limiter.take('u', { cost: 5 })
    const before = bench.count()
    for (let i = 0; i < 10; i += 1) void wait(limiter, `w${i}`)
    await bench.clock.advance(10_000)
    expect(ended).toEqual(Array.from({ length: 10 }, (_, i) => `w${i}`))
    // Each is denied once and allowed once.
    expect(bench.count() - before).toBeLessThanOrEqual(20)
  })

  test('a large cost at the head is not starved by small ones behind it', async () => {
    const limiter = bench.hf.limiter('api', oneASecond)
    await limiter.take('u', { cost: 5 })
    void wait(limiter, 'large', { cost: 5 })
    for (let i = 0; i < 20; i += 1) void wait(limiter, `small${i}`)
    await bench.clock.advance(4_999)
    expect(ended).toEqual([])
    await bench.clock.advance(1)
    expect(ended).toEqual(['large'])
    await bench.clock.advance(1_000)
    expect(ended).toEqual(['large', 'small0'])
  })

  test('E28: an abort leaves the queue at once, and the next is woken', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 5, per: '10s' }), { rememberFor: 0 })
    await limiter.take('u', { cost: 3 })
    const controller = new AbortController()
    void wait(limiter, 'large', { cost: 5, signal: controller.signal })
    void wait(limiter, 'small')
    await bench.clock.advance(100)
    expect(ended).toEqual([])
    controller.abort(new Error('gone'))
    await bench.clock.settle()
    expect(ended).toEqual(['large: gone', 'small'])
    await expect(limiter.waitFor('u', { signal: AbortSignal.abort('no') })).rejects.toBe('no')
  })

  test('E28: also while its ask is out; what that takes is given back', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 5, per: '10s' }))
    bench.trouble({ answeredAfter: 30 }, 'take')
    const controller = new AbortController()
    void wait(limiter, 'first', { cost: 5, signal: controller.signal })
    await bench.clock.advance(10)
    bench.heal()
    controller.abort(new Error('gone'))
    await bench.clock.settle()
    expect(ended).toEqual(['first: gone'])
    await bench.clock.advance(30)
    expect(await limiter.take('u', { cost: 5 })).toMatchObject({ allowed: true })
  })

  test('E28: one that is not the first leaves alone', async () => {
    const limiter = bench.hf.limiter('api', oneASecond)
    await limiter.take('u', { cost: 5 })
    const controller = new AbortController()
    void wait(limiter, 'one')
    void wait(limiter, 'two', { signal: controller.signal })
    void wait(limiter, 'three')
    controller.abort(new Error('gone'))
    await bench.clock.advance(2_000)
    expect(ended).toEqual(['two: gone', 'one', 'three'])
  })

  test('E28: a full queue says so', async () => {
    const limiter = bench.hf.limiter('api', oneASecond, { maxWaiting: 2 })
    await limiter.take('u', { cost: 5 })
    for (const name of ['one', 'two', 'three']) void wait(limiter, name)
    await bench.clock.settle()
    expect(ended).toEqual(['three: queue-full'])
    const error = await limiter.waitFor('u').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(RateLimitedError)
    expect(error).toMatchObject({ reason: 'queue-full', decision: null, retryable: true })
    expect(await limiter.waitFor('someone else')).toMatchObject({ allowed: true })
    await bench.clock.advance(1_000)
    void wait(limiter, 'four')
    await bench.clock.advance(2_000)
    expect(ended).toEqual(['three: queue-full', 'one', 'two', 'four'])
  })

  test('rejects at once when room comes only after the wait, and says when it comes', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1, per: '10s' }))
    await limiter.take('u')
    for (const [ms, reason] of [
      [0, 'denied'],
      [9_999, 'timeout'],
    ] as const) {
      const error = await limiter.waitFor('u', { wait: ms }).catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(RateLimitedError)
      expect(error).toMatchObject({
        reason,
        retryAfter: 10_000,
        decision: { allowed: false },
        retryable: true,
      })
    }
    expect(await bench.outcomeOf(limiter.waitFor('u', { wait: 10_000 }), 10_000)).toMatchObject({
      value: { allowed: true },
    })
  })

  test('one behind the first rejects when its wait is over', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1, per: '10s' }))
    await limiter.take('u')
    void wait(limiter, 'long')
    void wait(limiter, 'short', { wait: '3s' })
    await bench.clock.advance(2_999)
    expect(ended).toEqual([])
    await bench.clock.advance(1)
    expect(ended).toEqual(['short: timeout'])
    await bench.clock.advance(7_000)
    expect(ended).toEqual(['short: timeout', 'long'])
  })

  test('what can never pass rejects at once', async () => {
    const limiter = bench.hf.limiter('api', oneASecond)
    const error = await limiter.waitFor('u', { cost: 6 }).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'RATE_LIMITED', reason: 'never', retryAfter: null, retryable: false })
    expect((error as Error).message).toContain('above the capacity of 5')
  })

  test('what this process gives back wakes the first', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 5, per: '1m' }))
    const decision = await limiter.take('u', { cost: 5 })
    void wait(limiter, 'one')
    await bench.clock.settle()
    expect(ended).toEqual([])
    await limiter.refund('u', decision)
    await bench.clock.settle()
    expect(ended).toEqual(['one'])
  })

  test('a leaky bucket: waits out the delay, each its own', async () => {
    const limiter = bench.hf.limiter('api', leakyBucket({ capacity: 3, rate: 1, per: '1s' }))
    const times: number[] = []
    const start = bench.clock.monotonic()
    for (let i = 0; i < 4; i += 1)
      void limiter.waitFor('u', { wait: '10s' }).then(() => times.push(bench.clock.monotonic() - start))
    await bench.clock.advance(10_000)
    expect(times).toEqual([0, 1_000, 2_000, 3_000])
  })

  test('a leaky bucket: who leaves during the delay gives the place back', async () => {
    const limiter = bench.hf.limiter('api', leakyBucket({ capacity: 3, rate: 1, per: '1s' }))
    await limiter.take('u', { cost: 2 })
    const controller = new AbortController()
    void wait(limiter, 'one', { signal: controller.signal })
    await bench.clock.settle()
    controller.abort(new Error('gone'))
    await bench.clock.settle()
    expect(ended).toEqual(['one: gone'])
    expect(await limiter.take('u')).toMatchObject({ allowed: true, delay: 2_000 })
    await limiter.waitFor('u', { wait: 100 }).catch(() => ended.push('two'))
    await bench.clock.settle()
    expect(ended).toEqual(['one: gone', 'two'])
  })

  test('slots: asks now and then, since another process may give one back at any time', async () => {
    const slots = concurrency({ limit: 1, lease: '30s' })
    const held = await bench.other.limiter('api', slots).take('u')
    const limiter = bench.hf.limiter('api', slots)
    void wait(limiter, 'one')
    await bench.clock.advance(2_000)
    expect(ended).toEqual([])
    expect(bench.count('take')).toBeLessThanOrEqual(11)
    await held.slot?.release()
    await bench.clock.advance(200)
    expect(ended).toEqual(['one'])
  })

  test('close rejects all, whatever they wait for, and leaves no timer', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1, per: '1m' }))
    await limiter.take('u')
    const shaped = bench.hf.limiter('shaped', leakyBucket({ capacity: 3, rate: 1, per: '1m' }))
    await shaped.take('u')
    const timers = bench.clock.pendingTimers
    const waiting = [wait(limiter, 'one'), wait(limiter, 'two'), wait(shaped, 'three')]
    await bench.clock.settle()
    await bench.hf.close()
    expect(await Promise.all(waiting)).toEqual([
      expect.any(ClosedError),
      expect.any(ClosedError),
      expect.any(ClosedError),
    ])
    expect(bench.clock.pendingTimers).toBe(timers)
  })

  test('a store that fails ends the wait as onStoreError says', async () => {
    const throwing = bench.hf.limiter('throw', oneASecond)
    const denying = bench.hf.limiter('deny', oneASecond, { onStoreError: 'deny' })
    bench.trouble('unsent')
    expect(await bench.outcomeOf(throwing.waitFor('u'), 100)).toMatchObject({
      error: { code: 'STORE_UNAVAILABLE' },
    })
    void wait(denying, 'one', { wait: '5s' })
    await bench.clock.advance(2_500)
    expect(ended).toEqual([])
    bench.heal()
    await bench.clock.advance(1_000)
    expect(ended).toEqual(['one'])
    bench.trouble('unsent')
    void wait(denying, 'two', { wait: '3s' })
    await bench.clock.advance(3_100)
    expect(ended).toEqual(['one', 'two: timeout'])
  })

  test('tells how each wait ended', async () => {
    const told = bench.hear('holdfast:limit:waited')
    const limiter = bench.hf.limiter('api', oneASecond, { maxWaiting: 1 })
    await limiter.take('u', { cost: 5 })
    void wait(limiter, 'one')
    void wait(limiter, 'two')
    await bench.clock.advance(1_000)
    const about = { limiter: 'api', subject: 'u', cost: 1 }
    expect(told).toEqual([
      { ...about, waited: 0, outcome: 'queue-full' },
      { ...about, waited: 1_000, outcome: 'allowed' },
    ])
  })
})
