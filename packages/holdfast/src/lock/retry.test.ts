import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InvalidArgumentError } from '../errors.ts'
import { backoff, checkRetry, interval } from './retry.ts'

describe('interval', () => {
  test('is the same every time, 50 ms unless said', () => {
    const asks = [1, 2, 10, 1_000_000]
    expect(asks.map((n) => interval().delay(n, 0.9))).toEqual([50, 50, 50, 50])
    expect(asks.map((n) => interval('1s').delay(n, 0))).toEqual([1_000, 1_000, 1_000, 1_000])
  })

  test.each([0, -1, NaN, '50', '50 ms', 0.5, null, '25h'])('%j is none', (every) => {
    expect(() => interval(every as never)).toThrow(InvalidArgumentError)
    expect(() => interval(every as never)).toThrow(/^interval: /)
  })
})

describe('backoff', () => {
  test('is a random part of base × 2ⁿ, never more than max, never less than 1 ms', () => {
    const retry = backoff({ base: '50ms', max: '1s' })
    const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fraction, (asks, random) => {
        const delay = retry.delay(asks, random)
        const most = Math.min(1_000, 50 * 2 ** asks)
        expect(delay).toBeGreaterThanOrEqual(1)
        expect(delay).toBeLessThanOrEqual(most)
        expect(Math.abs(delay - random * most)).toBeLessThanOrEqual(1)
        expect(Number.isInteger(delay)).toBe(true)
      }),
    )
  })

  test('full jitter: over many waiters any part of the time is as likely', () => {
    const retry = backoff({ base: 100, max: 1_000 })
    const delays = Array.from({ length: 1_000 }, (_, n) => retry.delay(10, (n + 0.5) / 1_000))
    const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length
    expect(mean).toBeGreaterThan(495)
    expect(mean).toBeLessThan(505)
    expect(Math.min(...delays)).toBeLessThan(10)
  })

  test('has defaults, and takes equal bounds', () => {
    expect(backoff().delay(1, 0.999_999)).toBe(100)
    expect(backoff().delay(20, 0.999_999)).toBe(1_000)
    expect(backoff({ base: 200, max: 200 }).delay(5, 0.5)).toBe(100)
  })

  test.each([
    [{ base: 0 }, 'backoff.base'],
    [{ base: '1 s' }, 'backoff.base'],
    [{ max: NaN }, 'backoff.max'],
    [{ base: '2s', max: '1s' }, 'backoff.max'],
    [{ base: '2s' }, 'backoff.max'],
    [{ factor: 2 }, 'backoff.factor'],
    [{ Base: 2 }, 'backoff.Base'],
    ['50ms', 'backoff'],
    [null, 'backoff'],
  ])('%j is refused', (options, option) => {
    try {
      backoff(options as never)
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error).toMatchObject({ option })
      return
    }
    throw new Error('it was not refused')
  })
})

test('a retry of one’s own is taken when it can tell a delay', () => {
  const own = { delay: (asks: number) => asks * 10 }
  expect(checkRetry(own, 'retry')).toBe(own)
  for (const value of [{}, null, 5, () => 5, { delay: 5 }]) {
    expect(() => checkRetry(value, 'retry')).toThrow("interval('50ms')")
  }
})
