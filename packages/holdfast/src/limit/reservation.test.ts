import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LimiterBench } from '../testing/limiter-bench.ts'
import type { Limiter } from './limiter.ts'
import { concurrency, slidingWindow, tokenBucket } from './policies.ts'

const loose = (value: unknown): never => value as never

let bench: LimiterBench
let limiter: Limiter

beforeEach(() => {
  bench = new LimiterBench()
  limiter = bench.hf.limiter('llm', slidingWindow({ limit: 1_000, per: '1h' }))
})

afterEach(async () => {
  bench.heal()
  await Promise.all([bench.hf.close(), bench.other.close()])
})

/** The greatest cost that passes now. */
const left = async (subject = 'u') => (await limiter.peek(subject)).remaining + 1

describe('a reservation', () => {
  test('settled at less gives the rest back', async () => {
    const reservation = await limiter.reserve('u', { cost: 800 })
    expect(reservation.decision).toMatchObject({ allowed: true, remaining: 200 })
    expect(await reservation.settle(300)).toBe(true)
    expect(await left()).toBe(700)
    expect(await reservation.settle(100)).toBe(false)
    expect(await reservation.cancel()).toBe(false)
    expect(await left()).toBe(700)
  })

  test('settled at more counts it, even beyond the limit, and nothing passes until that has left', async () => {
    const reservation = await limiter.reserve('u', { cost: 800 })
    expect(await reservation.settle(1_500)).toBe(true)
    expect(await limiter.take('u')).toMatchObject({ allowed: false, remaining: 0, retryAfter: 3_600_000 })
  })

  test('settled at what it was costs no round trip', async () => {
    const reservation = await limiter.reserve('u', { cost: 800 })
    expect(await reservation.settle(800)).toBe(true)
    expect(bench.count('adjust')).toBe(0)
  })

  test('cancelled gives all of it back, and wakes who waits', async () => {
    const reservation = await limiter.reserve('u', { cost: 1_000 })
    const waiting = limiter.waitFor('u', { cost: 600, wait: '2h' })
    await bench.clock.settle()
    expect(await reservation.cancel()).toBe(true)
    expect(await waiting).toMatchObject({ allowed: true, remaining: 400 })
  })

  test('that was denied has nothing to settle', async () => {
    await limiter.take('u', { cost: 500 })
    const reservation = await limiter.reserve('u', { cost: 501 })
    expect(reservation.decision).toMatchObject({ allowed: false, retryAfter: 3_600_000 })
    expect(await reservation.settle(10)).toBe(false)
    expect(await reservation.cancel()).toBe(false)
    expect(await left()).toBe(500)
  })

  test('that nobody settles stays counted, or is given back, as atEnd says', async () => {
    const staying = await limiter.reserve('stays', { cost: 800, for: '1m' })
    const returning = await limiter.reserve('returns', { cost: 800, for: '1m', atEnd: 'return' })
    await bench.clock.advance(59_999)
    expect([await left('stays'), await left('returns')]).toEqual([200, 200])
    await bench.clock.advance(1)
    expect([await left('stays'), await left('returns')]).toEqual([200, 1_000])
    // Too late: what came to an end is not changed any more.
    expect(await staying.settle(0)).toBe(false)
    expect(await returning.settle(300)).toBe(false)
    expect([await left('stays'), await left('returns')]).toEqual([200, 1_000])
  })

  test('that was settled in time is not given back at its end', async () => {
    const reservation = await limiter.reserve('u', { cost: 800, for: '1m', atEnd: 'return' })
    await bench.clock.advance(30_000)
    expect(await reservation.settle(600)).toBe(true)
    await bench.clock.advance(60_000)
    expect(await left()).toBe(400)
  })

  test('whose settling fails can be settled again, and counts once', async () => {
    const reservation = await limiter.reserve('u', { cost: 800 })
    bench.trouble('unsent', 'adjust')
    expect(await bench.outcomeOf(reservation.settle(300), 100)).toMatchObject({
      error: { outcome: 'not-done' },
    })
    expect(await left()).toBe(200)
    bench.trouble('unanswered', 'adjust')
    expect(await bench.outcomeOf(reservation.settle(300), 100)).toMatchObject({
      error: { code: 'STORE_UNAVAILABLE', outcome: 'unknown' },
    })
    bench.heal()
    expect(await reservation.settle(300)).toBe(true)
    expect(await left()).toBe(700)
    const refused = await limiter.reserve('v', { cost: 800 })
    bench.trouble('unsent', 'adjust')
    await bench.outcomeOf(refused.settle(300), 100)
    bench.heal()
    expect(await refused.settle(300)).toBe(true)
    expect(await left('v')).toBe(700)
  })

  test('whose settling stays unknown for longer than the store remembers is not settled twice', async () => {
    const reservation = await limiter.reserve('u', { cost: 800 })
    await limiter.take('u', { cost: 100 })
    bench.trouble('unanswered', 'adjust')
    await bench.outcomeOf(reservation.cancel(), 100)
    bench.heal()
    await bench.clock.advance(1_000)
    expect(await reservation.cancel()).toBe(false)
    expect(await left()).toBe(900)
  })

  test.each([
    ['less', 100],
    ['nothing', 0],
    ['more', 900],
    ['what was reserved', 800],
  ])('whose settling is unknown, and settled at %s then, counts that alone', async (_what, actual) => {
    const reservation = await limiter.reserve('u', { cost: 800 })
    await limiter.take('u', { cost: 50 })
    bench.trouble('unanswered', 'adjust')
    await bench.outcomeOf(reservation.settle(300), 100)
    bench.heal()
    expect(await reservation.settle(actual)).toBe(true)
    expect(await left()).toBe(950 - actual)
  })

  test('whose settling was not done, and settled at something else then, counts that alone', async () => {
    const reservation = await limiter.reserve('u', { cost: 800 })
    await limiter.take('u', { cost: 50 })
    bench.trouble('swallowed', 'adjust')
    await bench.outcomeOf(reservation.settle(300), 100)
    bench.heal()
    expect(await reservation.cancel()).toBe(true)
    expect(await left()).toBe(950)
  })

  test('that is settled and refunded at the same time gives back once, whichever fails', async () => {
    const reservation = await limiter.reserve('u', { cost: 800 })
    await limiter.take('u', { cost: 50 })
    bench.trouble('unsent', 'adjust')
    const settling = bench.outcomeOf(reservation.settle(300), 100)
    const refunding = limiter.refund('u', reservation.decision).catch(() => false)
    bench.heal()
    await settling
    await refunding
    await reservation.cancel()
    expect(await left()).toBe(950)
  })

  test('whose settling was done by its last try, late in the budget, is remembered for as long as it may be repeated', async () => {
    const reservation = await limiter.reserve('u', { cost: 800 })
    await limiter.take('u', { cost: 50 })
    bench.trouble('swallowed', 'adjust')
    const settling = reservation.settle(300).catch((error: unknown) => error)
    await bench.clock.advance(50)
    bench.trouble('unanswered', 'adjust')
    await bench.clock.advance(50)
    expect(await settling).toMatchObject({ outcome: 'unknown' })
    bench.heal()
    await bench.clock.advance(90)
    expect(await reservation.settle(300)).toBe(true)
    expect(await left()).toBe(650)
  })

  test('is not settled any more when all is closed, and that is told', async () => {
    const reservation = await limiter.reserve('u', { cost: 800 })
    await bench.hf.close()
    await expect(reservation.settle(1)).rejects.toMatchObject({ code: 'CLOSED' })
    await expect(reservation.cancel()).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test('under several policies is settled under all', async () => {
    const both = bench.hf.limiter('both', [
      tokenBucket({ capacity: 500, refill: 1, per: '1m' }),
      slidingWindow({ limit: 1_000, per: '1h' }),
    ])
    const reservation = await both.reserve('u', { cost: 400 })
    await reservation.settle(100)
    expect((await both.peek('u')).policies.map(({ remaining }) => remaining)).toEqual([399, 899])
  })

  test('refuses what is none, before any round trip', async () => {
    for (const options of [
      { for: 0 },
      { for: '25h' },
      { for: null },
      { atEnd: 'keep' },
      { atEnd: null },
      { ttl: 5 },
    ])
      await expect(limiter.reserve('u', loose(options))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    const slots = bench.hf.limiter('slots', concurrency({ limit: 2 }))
    await expect(slots.reserve('u')).rejects.toMatchObject({ option: 'reserve' })
    expect(bench.count()).toBe(0)
    const reservation = await limiter.reserve('u')
    for (const actual of [-1, 0.5, NaN, Infinity, '5', 2 ** 31, undefined])
      await expect(reservation.settle(loose(actual))).rejects.toMatchObject({ option: 'actual' })
    expect(await reservation.settle(0)).toBe(true)
  })
})
