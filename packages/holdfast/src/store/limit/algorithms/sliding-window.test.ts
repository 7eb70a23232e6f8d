import { describe, expect, test } from 'vitest'
import { Ledger } from '../../../testing/limit-ledger.ts'
import type { SlidingWindow } from '../policy.ts'

const policy: SlidingWindow = { kind: 'sliding-window', name: 'w', limit: 10, per: 10_000 }

describe('sliding window', () => {
  test('the edge: a hit exactly one window old no longer counts, a millisecond younger it does', () => {
    const ledger = new Ledger(policy)
    ledger.take(10, 1_000)
    expect(ledger.peek(1, 10_999)).toMatchObject({ allowed: false, retryAfter: 1, resetAfter: 1 })
    expect(ledger.expires).toBe(11_000)
    expect(ledger.peek(10, 11_000)).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('E11: a denial waits for as many of the oldest as its cost needs', () => {
    const ledger = new Ledger(policy)
    for (const [cost, time] of [
      [4, 0],
      [3, 1_000],
      [3, 2_000],
    ] as const)
      ledger.take(cost, time)
    expect(ledger.take(1, 3_000)).toMatchObject({ allowed: false, remaining: 0, retryAfter: 7_000 })
    expect(ledger.take(4, 3_000)).toMatchObject({ allowed: false, retryAfter: 7_000 })
    expect(ledger.take(5, 3_000)).toMatchObject({ allowed: false, retryAfter: 8_000, resetAfter: 9_000 })
    expect(ledger.take(8, 3_000)).toMatchObject({ allowed: false, retryAfter: 9_000 })
    expect(ledger.take(5, 10_999).allowed).toBe(false)
    expect(ledger.take(5, 11_000)).toMatchObject({ allowed: true, remaining: 2 })
  })

  test('a hit that was given back may be taken up again, also after the clock was set back', () => {
    const ledger = new Ledger(policy)
    ledger.take(2, 1_000)
    ledger.take(1, 2_000)
    ledger.adjust({ at: 1_000, taken: 2, cost: 0 }, 2_000)
    ledger.take(1, 1_500)
    expect(ledger.adjust({ at: 1_000, taken: 2, cost: 3 }, 2_000)).toBe(true)
    expect(ledger.peek(1, 2_000).remaining).toBe(6)
  })

  test('E18: 5, given back, then 5 later: never more than 10 in any 10 s', () => {
    const ledger = new Ledger(policy)
    ledger.take(5, 0)
    expect(ledger.adjust({ at: 0, taken: 5, cost: 0 }, 1_000)).toBe(true)
    ledger.take(5, 5_000)
    expect(ledger.take(6, 9_000).allowed).toBe(false)
    expect(ledger.take(5, 9_000).allowed).toBe(true)
    // Had the refund taken the later hit's place, five more would pass now.
    expect(ledger.take(1, 10_001).allowed).toBe(false)
    expect(ledger.take(5, 14_999).allowed).toBe(false)
    expect(ledger.take(5, 15_000).allowed).toBe(true)
  })

  test('a refund takes from its own hit, not from the oldest', () => {
    const ledger = new Ledger(policy)
    ledger.take(4, 0)
    ledger.take(6, 6_000)
    ledger.adjust({ at: 6_000, taken: 6, cost: 1 }, 7_000)
    expect(ledger.peek(1, 9_999).remaining).toBe(4)
    expect(ledger.peek(1, 10_000).remaining).toBe(8)
  })

  test('E16: a refund of what is out of the window, or unknown, changes nothing', () => {
    const ledger = new Ledger(policy)
    ledger.take(5, 0)
    ledger.take(5, 4_000)
    expect(ledger.adjust({ at: 0, taken: 5, cost: 0 }, 10_000)).toBe(false)
    expect(ledger.adjust({ at: 3_999, taken: 5, cost: 0 }, 10_000)).toBe(false)
    expect(ledger.peek(1, 10_000).remaining).toBe(4)
    expect(ledger.adjust({ at: 4_000, taken: 9, cost: 0 }, 10_000)).toBe(true)
    expect(ledger.peek(1, 10_000).remaining).toBe(9)
    expect(ledger.subject).toBeNull()
  })

  test('E5: denied takes that count push out the oldest: the most recent tries are what counts', () => {
    const ledger = new Ledger(policy)
    ledger.take(4, 0)
    ledger.take(6, 1_000)
    // Three of the four at 0 s go.
    expect(ledger.take(3, 2_000, { countDenied: true })).toMatchObject({ remaining: 0, retryAfter: 9_000 })
    expect(ledger.peek(1, 9_999).allowed).toBe(false)
    expect(ledger.peek(1, 10_000)).toMatchObject({ allowed: true, remaining: 0 })
    expect(ledger.peek(7, 11_000)).toMatchObject({ allowed: true, remaining: 0 })
    expect(ledger.take(10, 3_000, { countDenied: true })).toMatchObject({ retryAfter: 10_000 })
    expect(ledger.expires).toBe(13_000)
  })

  test('E19: lowered below what is used it denies until enough has left; raised, the rest passes', () => {
    const ledger = new Ledger(policy)
    for (let i = 0; i < 10; i += 1) ledger.take(1, i * 1_000)
    ledger.policies = [{ ...policy, limit: 5 }]
    expect(ledger.take(1, 9_500)).toMatchObject({ allowed: false, remaining: 0, retryAfter: 5_500 })
    ledger.policies = [{ ...policy, limit: 20 }]
    expect(ledger.take(11, 9_500).allowed).toBe(false)
    expect(ledger.take(10, 9_500).allowed).toBe(true)
  })

  test('E19: another length of the window looks at the same hits', () => {
    const ledger = new Ledger(policy)
    ledger.take(6, 0)
    ledger.take(4, 3_000)
    ledger.policies = [{ ...policy, per: 2_000 }]
    expect(ledger.peek(1, 4_000).remaining).toBe(5)
    ledger.policies = [{ ...policy, per: 20_000 }]
    expect(ledger.take(1, 4_000)).toMatchObject({ allowed: false, retryAfter: 16_000 })
  })

  test('E20: the clock set back: hits in the future count as made now, and no longer than a window', () => {
    const ledger = new Ledger(policy)
    ledger.take(4, 100_000)
    ledger.take(6, 105_000)
    expect(ledger.take(1, 50_000)).toMatchObject({ allowed: false, retryAfter: 10_000, resetAfter: 10_000 })
    expect(ledger.expires).toBe(60_000)
    expect(ledger.take(10, 59_999).allowed).toBe(false)
    expect(ledger.take(10, 60_000).allowed).toBe(true)
  })

  test('E20: the refund of a take that lies in the future finds it where it was moved to', () => {
    const ledger = new Ledger(policy)
    ledger.take(6, 100_000)
    expect(ledger.adjust({ at: 100_000, taken: 6, cost: 0 }, 95_000)).toBe(true)
    expect(ledger.subject).toBeNull()
  })
})
