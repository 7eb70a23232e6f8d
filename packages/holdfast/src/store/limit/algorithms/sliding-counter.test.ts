import { describe, expect, test } from 'vitest'
import { Ledger } from '../../../testing/limit-ledger.ts'
import type { SlidingCounter } from '../policy.ts'

const policy: SlidingCounter = { kind: 'sliding-counter', name: 'c', limit: 100, per: 1_000 }

describe('sliding counter', () => {
  test('E7: at 10 % into the window, 50 before, 10 now, limit 100: exactly 45 more pass, and remaining says 45', () => {
    const ledger = new Ledger(policy)
    ledger.take(50, 4_700)
    expect(ledger.take(10, 5_100)).toMatchObject({ allowed: true, remaining: 45 })
    for (let i = 44; i >= 0; i -= 1)
      expect(ledger.take(1, 5_100)).toMatchObject({ allowed: true, remaining: i })
    expect(ledger.take(1, 5_100)).toMatchObject({ allowed: false, remaining: 0 })
  })

  test('the window before fades: at its end it counts whole, at the end of this one no more', () => {
    const ledger = new Ledger(policy)
    ledger.take(80, 4_999)
    expect(ledger.peek(1, 5_000).remaining).toBe(19)
    expect(ledger.peek(1, 5_500).remaining).toBe(59)
    expect(ledger.peek(1, 5_999).remaining).toBe(98)
    expect(ledger.peek(1, 6_000).remaining).toBe(99)
    expect(ledger.expires).toBe(6_000)
  })

  test('E8: a hit at the edge belongs to the window that begins', () => {
    const ledger = new Ledger(policy)
    ledger.take(100, 5_000)
    expect(ledger.expires).toBe(7_000)
    // In its own window it counts whole.
    expect(ledger.peek(1, 5_999).allowed).toBe(false)
    expect(ledger.peek(1, 6_010).remaining).toBe(0)
  })

  test('E11: the retry may lie in this window, at the edge, or in the next', () => {
    const fading = new Ledger(policy)
    fading.take(100, 4_000)
    // 100 * (1000 - e) + 10 * 1000 <= 100 * 1000 from e = 100 on.
    expect(fading.take(10, 5_050)).toMatchObject({ allowed: false, retryAfter: 50 })
    const full = new Ledger(policy)
    full.take(100, 5_200)
    expect(full.take(10, 5_300)).toMatchObject({ allowed: false, retryAfter: 800 })
    expect(full.take(100, 5_300)).toMatchObject({ allowed: false, retryAfter: 1_700 })
  })

  test('E16: a refund counts in the window of its take, this one or the one before', () => {
    const ledger = new Ledger(policy)
    ledger.take(40, 4_000)
    ledger.take(20, 5_000)
    expect(ledger.adjust({ at: 4_000, taken: 40, cost: 20 }, 5_500)).toBe(true)
    expect(ledger.peek(1, 5_500).remaining).toBe(100 - 10 - 20 - 1)
    expect(ledger.adjust({ at: 5_000, taken: 20, cost: 0 }, 5_500)).toBe(true)
    expect(ledger.peek(1, 5_500).remaining).toBe(89)
    expect(ledger.adjust({ at: 4_000, taken: 20, cost: 0 }, 6_000)).toBe(false)
  })

  test('E19: another length of the window: what counts at that instant goes over into the present one', () => {
    const ledger = new Ledger(policy)
    ledger.take(80, 4_000)
    ledger.take(10, 5_500)
    ledger.policies = [{ ...policy, per: 60_000 }]
    // 80 by half, and 10.
    expect(ledger.peek(1, 5_500).remaining).toBe(49)
    expect(ledger.take(1, 5_500)).toMatchObject({ allowed: true, resetAfter: 120_000 - 5_500 })
  })

  test('E20: the clock set back: counts stay, for no longer than two windows', () => {
    const ledger = new Ledger(policy)
    ledger.take(100, 9_500)
    expect(ledger.take(1, 4_500)).toMatchObject({ allowed: false })
    expect(ledger.expires).toBe(6_000)
    expect(ledger.take(100, 6_000)).toMatchObject({ allowed: true })
  })
})
