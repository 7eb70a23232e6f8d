import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_FENCE, nextFence } from './fence.ts'

describe('fences', () => {
  test('F1: each is greater than the last one, and none is below the clock', () => {
    const number = fc.integer({ min: 0, max: MAX_FENCE - 2 })
    fc.assert(
      fc.property(number, number, (last, now) => {
        const fence = nextFence(last, now)
        expect(fence).toBeGreaterThan(last)
        expect(fence).toBeGreaterThanOrEqual(now)
        expect([last + 1, now]).toContain(fence)
      }),
    )
  })

  test('F2: a lost counter, a clock that stands still and one that was stepped back', () => {
    expect(nextFence(0, 1_000)).toBe(1_000)
    expect(nextFence(1_000, 1_000)).toBe(1_001)
    expect(nextFence(5_000, 1_000)).toBe(5_001)
  })

  test('stay exact as doubles', () => {
    expect(Number.isSafeInteger(MAX_FENCE - 1)).toBe(true)
    expect(nextFence(MAX_FENCE - 2, 0)).toBe(MAX_FENCE - 1)
    expect(BigInt(nextFence(MAX_FENCE - 2, 0))).toBe(2n ** 53n - 1n)
  })
})
