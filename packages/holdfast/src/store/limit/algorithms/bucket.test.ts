import { describe, expect, test } from 'vitest'
import { Ledger } from '../../../testing/limit-ledger.ts'
import type { LeakyBucket, TokenBucket } from '../policy.ts'
import { bucketUnits, MAX_LEVEL } from './bucket.ts'

const bucket: TokenBucket = { kind: 'token-bucket', name: 'b', capacity: 10, refill: 1, per: 1_000 }

describe('token bucket', () => {
  test('bursts up to its capacity, and refills continuously', () => {
    const ledger = new Ledger(bucket)
    expect(ledger.take(10, 0)).toMatchObject({ allowed: true, remaining: 0, resetAfter: 10_000, delay: 0 })
    expect(ledger.take(1, 999)).toMatchObject({ allowed: false, retryAfter: 1 })
    expect(ledger.take(1, 1_000)).toMatchObject({ allowed: true, remaining: 0 })
    expect(ledger.take(3, 3_500)).toMatchObject({ allowed: false, remaining: 2, retryAfter: 500 })
    expect(ledger.peek(10, 11_000)).toMatchObject({ allowed: true })
    expect(ledger.expires).toBe(11_000)
  })

  test('a refill that does not divide its time is exact to the millisecond', () => {
    // 7 per second: the nth token is there after n * 1000 / 7 ms.
    const ledger = new Ledger({ ...bucket, refill: 7 })
    ledger.take(10, 0)
    for (let n = 1; n <= 700; n += 1) {
      const due = Math.ceil((n * 1_000) / 7)
      expect(ledger.take(1, due - 1).allowed).toBe(false)
      expect(ledger.take(1, due).allowed).toBe(true)
    }
  })

  test('E10: rates from one a day to a million a second', () => {
    const slow = new Ledger({ ...bucket, capacity: 1, per: 86_400_000 })
    slow.take(1, 5)
    expect(slow.take(1, 86_400_004)).toMatchObject({ allowed: false, retryAfter: 1 })
    expect(slow.take(1, 86_400_005).allowed).toBe(true)
    const fast = new Ledger({ ...bucket, capacity: 1_000_000, refill: 1_000_000, per: 1_000 })
    expect(fast.take(1_000_000, 0).allowed).toBe(true)
    expect(fast.take(1_001, 1)).toMatchObject({ allowed: false, remaining: 1_000, retryAfter: 1 })
    expect(fast.take(1_000, 1).allowed).toBe(true)
  })

  test('E16: a refund gives back what has not drained yet, so that no burst exceeds the capacity', () => {
    const ledger = new Ledger(bucket)
    ledger.take(10, 0)
    ledger.take(9, 9_000)
    expect(ledger.adjust({ at: 0, taken: 10, cost: 0 }, 9_000)).toBe(true)
    // Nine were taken at this very instant: one more at most.
    expect(ledger.take(2, 9_000).allowed).toBe(false)
    expect(ledger.take(1, 9_000).allowed).toBe(true)
    expect(ledger.adjust({ at: 0, taken: 10, cost: 0 }, 10_000)).toBe(false)
  })

  test('E16: a refund after the clock was set back gives back nothing: nobody knows how much has drained', () => {
    const ledger = new Ledger(bucket)
    ledger.take(4, 5_000)
    expect(ledger.adjust({ at: 5_000, taken: 4, cost: 1 }, 4_999)).toBe(false)
    expect(ledger.peek(1, 4_999).remaining).toBe(5)
    expect(ledger.adjust({ at: 5_000, taken: 4, cost: 6 }, 4_999)).toBe(true)
    expect(ledger.peek(1, 4_999).remaining).toBe(3)
  })

  test('E16: a refund at once gives back all of it, and one too large no more than there is', () => {
    const ledger = new Ledger(bucket)
    ledger.take(4, 500)
    expect(ledger.adjust({ at: 500, taken: 4, cost: 1 }, 500)).toBe(true)
    expect(ledger.peek(1, 500).remaining).toBe(8)
    expect(ledger.adjust({ at: 500, taken: 10, cost: 0 }, 500)).toBe(true)
    expect(ledger.subject).toBeNull()
    expect(ledger.adjust({ at: 500, taken: 10, cost: 0 }, 500)).toBe(false)
  })

  test('more than was taken makes a debt, which is bounded', () => {
    const ledger = new Ledger(bucket)
    ledger.take(10, 0)
    ledger.adjust({ at: 0, taken: 10, cost: 25 }, 0)
    expect(ledger.take(1, 15_999)).toMatchObject({ allowed: false, remaining: 0, retryAfter: 1 })
    expect(ledger.take(1, 16_000).allowed).toBe(true)
    const year = new Ledger({ ...bucket, capacity: 1, per: 31_536_000_000 })
    year.take(1, 0)
    year.adjust({ at: 0, taken: 1, cost: 2 ** 31 - 1 }, 0)
    expect(year.peek(1, 0).resetAfter).toBe(MAX_LEVEL)
  })

  test('E5: a denied take that counts fills it to the brim and no further', () => {
    const ledger = new Ledger(bucket)
    ledger.take(8, 0)
    expect(ledger.take(5, 0, { countDenied: true })).toMatchObject({
      remaining: 0,
      retryAfter: 5_000,
      resetAfter: 10_000,
    })
  })

  test('E19: usage carries over in tokens when capacity or rate change', () => {
    const ledger = new Ledger(bucket)
    ledger.take(6, 0)
    ledger.policies = [{ ...bucket, refill: 7, per: 3_000 }]
    expect(ledger.peek(1, 0).remaining).toBe(3)
    ledger.policies = [{ ...bucket, capacity: 20 }]
    expect(ledger.take(15, 0).allowed).toBe(false)
    expect(ledger.take(14, 0).allowed).toBe(true)
    ledger.policies = [{ ...bucket, capacity: 5 }]
    expect(ledger.take(1, 0)).toMatchObject({ allowed: false, remaining: 0, retryAfter: 16_000 })
  })

  test('E20: the clock set back: nothing drains, nothing comes free', () => {
    const ledger = new Ledger(bucket)
    ledger.take(10, 100_000)
    expect(ledger.take(1, 95_000)).toMatchObject({ allowed: false, retryAfter: 1_000 })
    expect(ledger.expires).toBe(105_000)
    expect(ledger.take(1, 95_999).allowed).toBe(false)
    expect(ledger.take(1, 96_000).allowed).toBe(true)
  })
})

describe('leaky bucket', () => {
  const leaky: LeakyBucket = { kind: 'leaky-bucket', name: 'l', capacity: 4, rate: 2, per: 1_000 }

  test('says how long those before take: one after the other, half a second apart', () => {
    const ledger = new Ledger(leaky)
    const delays = [1, 1, 1, 1].map((cost) => ledger.take(cost, 10_000).delay)
    expect(delays).toEqual([0, 500, 1_000, 1_500])
    expect(ledger.take(1, 10_000)).toMatchObject({ allowed: false, delay: 0, retryAfter: 500 })
    expect(ledger.take(1, 10_500)).toMatchObject({ allowed: true, delay: 1_500 })
  })

  test('a cost occupies as many places', () => {
    const ledger = new Ledger(leaky)
    ledger.take(3, 0)
    expect(ledger.take(2, 0)).toMatchObject({ allowed: false, remaining: 1, retryAfter: 500 })
    expect(ledger.take(1, 0)).toMatchObject({ allowed: true, delay: 1_500 })
  })

  test('delays are rounded up', () => {
    const ledger = new Ledger({ ...leaky, rate: 3 })
    expect([1, 1, 1].map((cost) => ledger.take(cost, 0).delay)).toEqual([0, 334, 667])
  })
})

describe('the units of a bucket', () => {
  test('are whole, and drain by a whole number each millisecond', () => {
    expect(bucketUnits(10, 10, 1_000)).toEqual({ unit: 100, drain: 1, full: 1_000 })
    expect(bucketUnits(5, 7, 1_000)).toEqual({ unit: 1_000, drain: 7, full: 5_000 })
    expect(bucketUnits(9, 1_000_000, 1_000)).toEqual({ unit: 1, drain: 1_000, full: 9 })
  })

  test('that would be too many are coarser, and never admit more', () => {
    const year = 31_536_000_000
    for (const [capacity, rate] of [
      [1_000_000, 999_983],
      [2 ** 31 - 1, 2 ** 31 - 1],
      [10_000, 7],
      [2 ** 31 - 1, 1_000_003],
    ] as const) {
      const { unit, drain, full } = bucketUnits(capacity, rate, year)
      expect(Number.isSafeInteger(unit) && Number.isSafeInteger(drain) && drain >= 1).toBe(true)
      expect(full).toBeLessThanOrEqual(2 ** 48)
      // unit / drain >= year / rate, in whole numbers; and by less than a thousandth more.
      const [ours, asked] = [BigInt(unit) * BigInt(rate), BigInt(year) * BigInt(drain)]
      expect(ours).toBeGreaterThanOrEqual(asked)
      expect(Number(ours - asked) / Number(asked)).toBeLessThan(0.001)
    }
  })
})
