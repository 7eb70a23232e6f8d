import { describe, expect, test } from 'vitest'
import { InvalidArgumentError } from '../errors.ts'
import {
  checkPolicy,
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingWindow,
  tokenBucket,
} from './policies.ts'

const loose = (value: unknown): never => value as never

function refusalOf(run: () => unknown): InvalidArgumentError {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError)
    return error as InvalidArgumentError
  }
  throw new Error('it was not refused')
}

/** Every maker with options that are right. */
const makers = [
  ['fixedWindow', fixedWindow, { limit: 3, per: '1m' }],
  ['slidingWindow', slidingWindow, { limit: 3, per: '1m' }],
  ['slidingCounter', slidingCounter, { limit: 3, per: '1m' }],
  ['tokenBucket', tokenBucket, { capacity: 3, refill: 2, per: '1s' }],
  ['leakyBucket', leakyBucket, { capacity: 3, rate: 2, per: '1s' }],
  ['concurrency', concurrency, { limit: 3, lease: '10s' }],
] as const

const numbers = makers.flatMap(([name, make, options]) =>
  Object.entries(options)
    .filter(([, value]) => typeof value === 'number')
    .map(([option]) => [name, make, options, option] as const),
)

describe('policies', () => {
  test('are plain data with times in milliseconds, a derived name, and cannot be changed', () => {
    expect(makers.map(([, make, options]) => make(loose(options)))).toEqual([
      { kind: 'fixed-window', name: 'window-1m', limit: 3, per: 60_000 },
      { kind: 'sliding-window', name: 'sliding-1m', limit: 3, per: 60_000 },
      { kind: 'sliding-counter', name: 'counter-1m', limit: 3, per: 60_000 },
      { kind: 'token-bucket', name: 'bucket-1s', capacity: 3, refill: 2, per: 1_000 },
      { kind: 'leaky-bucket', name: 'leaky-1s', capacity: 3, rate: 2, per: 1_000 },
      { kind: 'concurrency', name: 'slots', limit: 3, lease: 10_000 },
    ])
    for (const [, make, options] of makers) expect(Object.isFrozen(make(loose(options)))).toBe(true)
    expect(concurrency({ limit: 1 }).lease).toBe(30_000)
  })

  describe.each(numbers)('%s', (call, make, options, option) => {
    test.each([0, -1, 1.5, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 53, '5', null, undefined, 5n])(
      `E14: refuses ${option} %s`,
      (value) => {
        const refusal = refusalOf(() => make(loose({ ...options, [option]: value })))
        expect(refusal.option).toBe(`${call}.${option}`)
        expect(refusal.message).toMatch(/Give a whole number from 1 to \d+/)
      },
    )

    test(`takes ${option} 1`, () => {
      expect(make(loose({ ...options, [option]: 1 }))).toMatchObject({ [option]: 1 })
    })
  })

  test.each(makers.filter(([name]) => name !== 'concurrency'))(
    '%s refuses a per that is none',
    (name, make, options) => {
      for (const per of [0, -1, 1.5, '366d', 31_536_000_001, '1 min', null, undefined, NaN]) {
        expect(refusalOf(() => make(loose({ ...options, per }))).option).toBe(`${name}.per`)
      }
      for (const per of [1, '365d', '1900ms']) expect(() => make(loose({ ...options, per }))).not.toThrow()
    },
  )

  test.each(makers)('%s refuses unknown options, nothing, and names that are none', (name, make, options) => {
    expect(refusalOf(() => make(loose({ ...options, burst: 3 }))).option).toBe(`${name}.burst`)
    expect(refusalOf(() => make(loose(undefined))).message).toContain(`${name}: `)
    expect(refusalOf(() => make(loose(5))).option).toBe(name)
    for (const wrong of ['', ' a', 'a\n', 'é', 'x'.repeat(65), 5, null, 'block', 'unavailable']) {
      expect(refusalOf(() => make(loose({ ...options, name: wrong }))).option).toBe(`${name}.name`)
    }
    expect(make(loose({ ...options, name: 'a "b" c' })).name).toBe('a "b" c')
  })

  test('an exact window has a bound of its own, since it keeps every entry', () => {
    expect(() => slidingWindow({ limit: 10_000_000, per: 1 })).not.toThrow()
    expect(refusalOf(() => slidingWindow({ limit: 10_000_001, per: 1 })).option).toBe('slidingWindow.limit')
    expect(() => slidingCounter({ limit: 10_000_001, per: 1 })).not.toThrow()
  })

  test('a bucket that takes more than ten years to fill is refused', () => {
    expect(() => tokenBucket({ capacity: 10, refill: 1, per: '365d' })).not.toThrow()
    expect(refusalOf(() => tokenBucket({ capacity: 11, refill: 1, per: '365d' })).option).toBe(
      'tokenBucket.capacity',
    )
    expect(refusalOf(() => leakyBucket({ capacity: 11, rate: 1, per: '365d' })).option).toBe(
      'leakyBucket.capacity',
    )
  })

  test('what is no policy is refused, wherever it comes from', () => {
    for (const value of [null, undefined, 5, {}, { kind: 'window' }, { kind: 'toString' }, []])
      expect(refusalOf(() => checkPolicy(value, 'policies')).option).toBe('policies')
    const policy = slidingWindow({ limit: 3, per: '1m', name: 'x' })
    expect(checkPolicy({ ...policy }, 'policies')).toEqual(policy)
    expect(refusalOf(() => checkPolicy({ ...policy, limit: 0 }, 'policies')).option).toBe(
      'slidingWindow.limit',
    )
  })
})
