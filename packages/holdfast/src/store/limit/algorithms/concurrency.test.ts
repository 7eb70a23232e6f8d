import { describe, expect, test } from 'vitest'
import { Ledger } from '../../../testing/limit-ledger.ts'
import type { Concurrency } from '../policy.ts'

const policy: Concurrency = { kind: 'concurrency', name: 'slots', limit: 3, lease: 1_000 }

describe('concurrency', () => {
  test('holds up to its limit, each until its lease ends', () => {
    const ledger = new Ledger(policy)
    ledger.take(1, 0)
    expect(ledger.take(2, 400)).toMatchObject({ allowed: true, remaining: 0, resetAfter: 1_000 })
    expect(ledger.take(1, 500)).toMatchObject({ allowed: false, retryAfter: 500 })
    expect(ledger.take(2, 500)).toMatchObject({ allowed: false, retryAfter: 900 })
    expect(ledger.take(1, 999).allowed).toBe(false)
    expect(ledger.take(1, 1_000)).toMatchObject({ allowed: true, remaining: 0 })
    expect(ledger.expires).toBe(2_000)
  })

  test('a slot that is renewed lasts a full lease more; one that is over does not come back', () => {
    const ledger = new Ledger(policy)
    ledger.take(3, 0, { id: 'a' })
    expect(ledger.renew('a', 900)).toBe(true)
    expect(ledger.take(1, 1_899).allowed).toBe(false)
    expect(ledger.renew('a', 1_900)).toBe(false)
    expect(ledger.take(3, 1_900).allowed).toBe(true)
    expect(ledger.renew('b', 1_900)).toBe(false)
  })

  test('a slot is given back by its id, whenever that is; a smaller part of it as well', () => {
    const ledger = new Ledger(policy)
    ledger.take(2, 0, { id: 'a' })
    ledger.take(1, 0, { id: 'b' })
    expect(ledger.adjust({ take: 'a', at: 0, taken: 2, cost: 1 }, 100)).toBe(true)
    expect(ledger.peek(1, 100)).toMatchObject({ allowed: true, remaining: 0 })
    expect(ledger.adjust({ take: 'b', at: 0, taken: 1, cost: 0 }, 100)).toBe(true)
    expect(ledger.adjust({ take: 'b', at: 0, taken: 1, cost: 0 }, 100)).toBe(false)
    expect(ledger.take(2, 100)).toMatchObject({ allowed: true, remaining: 0 })
    expect(ledger.adjust({ take: 'a', at: 0, taken: 2, cost: 0 }, 1_000)).toBe(false)
  })

  test('E5: a denied take never holds a slot', () => {
    const ledger = new Ledger(policy)
    ledger.take(2, 0)
    expect(ledger.take(2, 0, { countDenied: true })).toMatchObject({ allowed: false, remaining: 1 })
  })

  test('E19: lowered below what is held it denies until enough has ended', () => {
    const ledger = new Ledger(policy)
    for (const time of [0, 100, 200]) ledger.take(1, time)
    ledger.policies = [{ ...policy, limit: 1 }]
    expect(ledger.take(1, 300)).toMatchObject({ allowed: false, remaining: 0, retryAfter: 900 })
    ledger.policies = [{ ...policy, limit: 5 }]
    expect(ledger.take(2, 300)).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('E20: the clock set back, or the lease shortened: no slot lasts longer than a lease from now', () => {
    const back = new Ledger(policy)
    back.take(3, 100_000)
    expect(back.take(1, 95_000)).toMatchObject({ allowed: false, retryAfter: 1_000 })
    expect(back.take(3, 96_000).allowed).toBe(true)
    const shortened = new Ledger(policy)
    shortened.take(3, 0)
    shortened.policies = [{ ...policy, lease: 200 }]
    expect(shortened.take(1, 100)).toMatchObject({ allowed: false, retryAfter: 200 })
    expect(shortened.take(3, 300).allowed).toBe(true)
  })
})
