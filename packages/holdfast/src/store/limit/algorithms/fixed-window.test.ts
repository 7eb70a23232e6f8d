import { describe, expect, test } from 'vitest'
import { decide } from '../decide.ts'
import { Ledger } from '../../../testing/limit-ledger.ts'
import type { FixedWindow } from '../policy.ts'

const policy: FixedWindow = { kind: 'fixed-window', name: 'w', limit: 3, per: 1_000 }

describe('fixed window', () => {
  test('E8: a hit in the millisecond in which a window ends belongs to the next, with a count and an expiry of its own', () => {
    const ledger = new Ledger(policy)
    expect(ledger.take(3, 5_999)).toMatchObject({ allowed: true, remaining: 0, resetAfter: 1 })
    expect(ledger.expires).toBe(6_000)
    expect(ledger.take(1, 6_000)).toMatchObject({ allowed: true, remaining: 2, resetAfter: 1_000 })
    expect(ledger.expires).toBe(7_000)
  })

  test('E8: the algorithm by itself never takes an old count into a new window, however old', () => {
    const take = { cost: 3, id: 'a take', countDenied: false }
    const { usage } = decide(policy, null, 5_999, take)
    for (const now of [6_000, 7_000, 1_000_000])
      expect(decide(policy, usage, now, take).verdict).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('E8: the count of a window that is over does not go into one of another length', () => {
    const ledger = new Ledger(policy)
    ledger.take(3, 61_500)
    ledger.policies = [{ ...policy, per: 60_000 }]
    expect(ledger.peek(1, 61_999).allowed).toBe(false)
    expect(ledger.peek(1, 62_000)).toMatchObject({ allowed: true, remaining: 2 })
  })

  test('E11: a denial names the end of the window', () => {
    const ledger = new Ledger(policy)
    ledger.take(2, 1_400)
    expect(ledger.take(2, 1_450)).toMatchObject({
      allowed: false,
      remaining: 1,
      retryAfter: 550,
      resetAfter: 550,
    })
    expect(ledger.take(2, 1_999)).toMatchObject({ allowed: false, retryAfter: 1 })
    expect(ledger.take(2, 2_000)).toMatchObject({ allowed: true, remaining: 1 })
  })

  test('twice the limit may pass around an edge, and no more', () => {
    const ledger = new Ledger(policy)
    expect(ledger.take(3, 999).allowed).toBe(true)
    expect(ledger.take(3, 1_000).allowed).toBe(true)
    expect(ledger.take(1, 1_000).allowed).toBe(false)
  })

  test('E16: a refund counts in the window of its take only, and never below zero', () => {
    const ledger = new Ledger(policy)
    ledger.take(3, 1_100)
    expect(ledger.adjust({ at: 1_100, taken: 3, cost: 1 }, 1_200)).toBe(true)
    expect(ledger.peek(1, 1_200).remaining).toBe(1)
    ledger.take(2, 2_000)
    expect(ledger.adjust({ at: 1_100, taken: 3, cost: 0 }, 2_100)).toBe(false)
    expect(ledger.peek(1, 2_100).remaining).toBe(0)
    expect(ledger.adjust({ at: 2_000, taken: 9, cost: 0 }, 2_100)).toBe(true)
    expect(ledger.peek(1, 2_100).remaining).toBe(2)
    expect(ledger.expires).toBe(0)
  })

  test('E20: the clock set back: the count stays, and nobody is locked out for longer than a window', () => {
    const ledger = new Ledger(policy)
    ledger.take(3, 9_500)
    expect(ledger.take(1, 4_500)).toMatchObject({ allowed: false, retryAfter: 500 })
    expect(ledger.expires).toBe(5_000)
    expect(ledger.take(1, 5_000)).toMatchObject({ allowed: true, remaining: 2 })
  })

  test('E19: when the window is made longer or shorter, its count goes over into the present one', () => {
    const ledger = new Ledger(policy)
    ledger.take(3, 61_500)
    ledger.policies = [{ ...policy, per: 60_000 }]
    expect(ledger.take(1, 61_600)).toMatchObject({ allowed: false, retryAfter: 58_400 })
    ledger.policies = [{ ...policy, limit: 5, per: 60_000 }]
    expect(ledger.take(1, 61_700)).toMatchObject({ allowed: true, remaining: 1 })
    ledger.policies = [policy]
    expect(ledger.take(1, 61_800)).toMatchObject({ allowed: false, retryAfter: 200 })
  })
})
