import { describe, expect, test } from 'vitest'
import { Ledger } from '../../testing/limit-ledger.ts'
import type { Policy } from './policy.ts'
import { readSubject, writeSubject } from './subject-text.ts'

const perSecond: Policy = { kind: 'sliding-window', name: 'second', limit: 1, per: 1_000 }
const perMinute: Policy = { kind: 'sliding-window', name: 'minute', limit: 100, per: 60_000 }
const bucket: Policy = { kind: 'token-bucket', name: 'bucket', capacity: 10, refill: 1, per: 1_000 }
const slots: Policy = { kind: 'concurrency', name: 'slots', limit: 2, lease: 1_000 }

const remaining = (ledger: Ledger, now: number) =>
  ledger.peekAll(1, now).policies.map((verdict) => verdict.remaining)

describe('several policies', () => {
  test('E3: all or nothing: five calls in a second count once, and each denial says how long each policy asks to wait', () => {
    const ledger = new Ledger(perSecond, perMinute)
    const verdicts = [0, 10, 20, 30, 40].map((now) => ledger.takeAll(1, now))
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, false, false, false, false])
    expect(verdicts[4]?.policies).toMatchObject([
      { allowed: false, remaining: 0, retryAfter: 960 },
      { allowed: true, remaining: 99, retryAfter: 0 },
    ])
    expect(ledger.peekAll(1, 1_000)).toMatchObject({
      allowed: true,
      policies: [{ remaining: 0 }, { remaining: 98 }],
    })
  })

  test('E3: whichever of them refuses, no other counts', () => {
    for (const order of [
      [perMinute, perSecond, bucket, slots],
      [slots, bucket, perSecond, perMinute],
    ]) {
      const ledger = new Ledger(...order)
      ledger.takeAll(1, 0)
      const before = ledger.subject
      expect(ledger.takeAll(1, 1).allowed).toBe(false)
      expect(ledger.subject).toBe(before)
    }
  })

  test('E5: with countDenied all count what fits of a denied take, except slots', () => {
    const ledger = new Ledger(perSecond, perMinute, bucket, slots)
    ledger.takeAll(1, 0)
    const denied = ledger.takeAll(1, 500, { countDenied: true })
    expect(denied.policies).toMatchObject([
      { allowed: false, remaining: 0, retryAfter: 1_000 },
      { allowed: true, remaining: 98 },
      { allowed: true, remaining: 8 },
      { allowed: true, remaining: 1 },
    ])
    // E11 holds for it too.
    expect(ledger.peekAll(1, 1_499).allowed).toBe(false)
    expect(ledger.peekAll(1, 1_500).allowed).toBe(true)
  })

  test('E6: one that can never pass counts nowhere, also with countDenied', () => {
    const ledger = new Ledger(perSecond, perMinute)
    const verdict = ledger.takeAll(2, 0, { countDenied: true })
    expect(verdict.policies).toMatchObject([
      { allowed: false, never: true, remaining: 1, retryAfter: 0 },
      { allowed: true, never: false, remaining: 100, retryAfter: 0 },
    ])
    expect(ledger.subject).toBeNull()
  })

  test('a policy of another kind under the same name begins anew, one of another name is left alone', () => {
    const ledger = new Ledger(perMinute, bucket)
    ledger.takeAll(5, 0)
    ledger.policies = [{ ...bucket, name: 'minute' }]
    expect(ledger.take(3, 0).remaining).toBe(7)
    ledger.policies = [{ ...bucket, name: 'minute' }, bucket]
    expect(remaining(ledger, 0)).toEqual([6, 4])
  })
})

describe('block', () => {
  test('E17: refuses everything, counts nothing, and no call shortens or prolongs it', () => {
    const ledger = new Ledger(perMinute)
    ledger.take(1, 0)
    ledger.block(10_000, 0)
    for (const now of [0, 5_000, 9_999]) {
      expect(ledger.takeAll(1, now, { countDenied: true })).toMatchObject({
        allowed: false,
        blockedFor: 10_000 - now,
      })
      expect(ledger.peekAll(1, now)).toMatchObject({ allowed: false, blockedFor: 10_000 - now })
    }
    ledger.reset(9_999)
    expect(ledger.peekAll(1, 9_999)).toMatchObject({ allowed: false, blockedFor: 1 })
    expect(ledger.takeAll(1, 10_000)).toMatchObject({
      allowed: true,
      blockedFor: 0,
      policies: [{ remaining: 99 }],
    })
  })

  test('E17: another block replaces it, and 0 ends it', () => {
    const ledger = new Ledger(perMinute)
    ledger.block(10_000, 0)
    ledger.block(500, 100)
    expect(ledger.peekAll(1, 100).blockedFor).toBe(500)
    ledger.block(0, 200)
    expect(ledger.peekAll(1, 200)).toMatchObject({ allowed: true, blockedFor: 0 })
    expect(ledger.subject).toBeNull()
  })

  test('E20: after the clock was set back it lasts no longer than it was to', () => {
    const ledger = new Ledger(perMinute)
    ledger.block(10_000, 100_000)
    expect(ledger.takeAll(1, 50_000).blockedFor).toBe(10_000)
    expect(ledger.expires).toBe(60_000)
  })
})

describe('reservations', () => {
  test('that nobody settles are given back by themselves', () => {
    const ledger = new Ledger(perMinute, bucket, slots)
    ledger.takeAll(2, 0, { returnAfter: 500 })
    expect(remaining(ledger, 499)).toEqual([98, 8, 0])
    expect(remaining(ledger, 500)).toEqual([99, 9, 1])
    ledger.takeAll(1, 500)
    expect(remaining(ledger, 500)).toEqual([98, 8, 0])
  })

  test('that are settled are not', () => {
    const ledger = new Ledger(perMinute)
    ledger.take(10, 0, { id: 'r', returnAfter: 500 })
    expect(ledger.adjust({ take: 'r', at: 0, taken: 10, cost: 4 }, 100)).toBe(true)
    expect(ledger.peek(1, 600).remaining).toBe(95)
  })

  test('that are settled late are over: they are not given back twice', () => {
    const ledger = new Ledger(perMinute, bucket)
    ledger.take(10, 0, { id: 'r', returnAfter: 500 })
    ledger.take(3, 600)
    expect(remaining(ledger, 600)).toEqual([96, 6])
    for (const cost of [4, 0, 20]) {
      expect(ledger.adjust({ take: 'r', at: 0, taken: 10, cost }, 700)).toBe(false)
      expect(remaining(ledger, 700)).toEqual([96, 6])
    }
    const alone = new Ledger(perMinute)
    alone.take(10, 0, { id: 'r', returnAfter: 500 })
    expect(alone.adjust({ take: 'r', at: 0, taken: 10, cost: 4 }, 700)).toBe(false)
    expect(alone.peek(1, 700).remaining).toBe(99)
  })

  test('E20: after the clock was set back they last no longer than they were to', () => {
    const ledger = new Ledger(perMinute)
    ledger.take(10, 100_000, { returnAfter: 500 })
    ledger.take(1, 50_000)
    expect(ledger.peek(1, 50_500).remaining).toBe(98)
  })

  test('one that is no longer remembered is not given back, whatever else keeps the subject', () => {
    const short: Policy = { kind: 'sliding-window', name: 'limit', limit: 200, per: 60 }
    const ledger = new Ledger(short)
    ledger.take(1, 0, { returnAfter: 30 })
    ledger.policies = [{ ...short, per: 3_000 }]
    ledger.take(1, 0, { returnAfter: 30 })
    // The first was remembered for as long as its own window; the second for longer, and is given back.
    expect(ledger.peek(1, 90).remaining).toBe(198)
  })

  test('nothing of one is kept when it can matter no more', () => {
    const ledger = new Ledger(perSecond)
    ledger.take(1, 0, { returnAfter: 100 })
    expect(ledger.expires).toBe(1_000)
    ledger.take(1, 1_000)
    expect(ledger.subject?.reservations).toEqual([])
  })
})

test('renew: a take must have its slots under every policy that has slots', () => {
  const ledger = new Ledger(slots, { ...slots, name: 'more', limit: 5, lease: 3_000 }, perMinute)
  ledger.takeAll(1, 0, { id: 'a' })
  expect(ledger.renew('a', 999)).toBe(true)
  expect(ledger.renew('a', 2_000)).toBe(false)
  ledger.policies = [perMinute]
  expect(ledger.renew('a', 2_000)).toBe(false)
})

test('a subject reads as it was written', () => {
  const ledger = new Ledger(
    perMinute,
    bucket,
    { ...slots, limit: 5 },
    {
      ...perSecond,
      kind: 'fixed-window',
      limit: 9,
      name: '__proto__',
    },
  )
  for (const now of [1_000, 1_000, 1_007]) ledger.takeAll(1, now, { returnAfter: now })
  ledger.block(5, 1_007)
  const { subject } = ledger
  if (subject === null) throw new Error('nothing was kept')
  const text = writeSubject(subject)
  ledger.subject = readSubject(text)
  expect(writeSubject(ledger.subject)).toBe(text)
  expect(remaining(ledger, 1_500)).toEqual([96, 6, 1, 5])
  expect(ledger.expires).toBe(61_007)
})
