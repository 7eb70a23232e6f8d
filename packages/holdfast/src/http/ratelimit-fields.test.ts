import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Decision, PolicyDecision } from '../limit/decision.ts'
import {
  rateLimitFields,
  retryAfterSeconds,
  violatedPolicies,
  type FieldOptions,
} from './ratelimit-fields.ts'

/** Goal: the headers are what draft-ietf-httpapi-ratelimit-headers-10 describes, and never promise too much. */

const policy = (over: Partial<PolicyDecision> = {}): PolicyDecision => ({
  name: 'default',
  kind: 'fixed-window',
  allowed: true,
  never: false,
  limit: 100,
  window: 60_000,
  remaining: 42,
  retryAfter: 0,
  resetAfter: 17_000,
  ...over,
})

const decision = (policies: PolicyDecision[], over: Partial<Decision> = {}): Decision => {
  const violated = policies.filter(({ allowed }) => !allowed)
  const deciding = violated[0] ?? policies[0]
  return {
    allowed: violated.length === 0,
    wouldDeny: false,
    never: false,
    remaining: deciding?.remaining ?? 0,
    limit: deciding?.limit ?? 0,
    retryAfter: Math.max(0, ...violated.map(({ retryAfter }) => retryAfter ?? 0)),
    resetAfter: deciding?.resetAfter ?? 0,
    delay: 0,
    policy: deciding?.name ?? '',
    policies,
    source: 'store',
    cost: 1,
    ...over,
  }
}

const plain: FieldOptions = { quotaUnit: null, partitionKey: null, legacy: null, now: 0 }
const fieldsOf = (of: Decision, options: Partial<FieldOptions> = {}) =>
  Object.fromEntries(rateLimitFields(of, { ...plain, ...options }))

describe('the fields of an allowed request', () => {
  test('name the policy and what is left', () => {
    expect(fieldsOf(decision([policy()]))).toEqual({
      'RateLimit-Policy': '"default";q=100;w=60',
      RateLimit: '"default";r=42;t=17',
    })
  })

  test('have a member for each policy', () => {
    const daily = policy({ name: 'daily', limit: 1_000, window: 86_400_000, remaining: 999, resetAfter: 1 })
    expect(fieldsOf(decision([policy(), daily]))).toEqual({
      'RateLimit-Policy': '"default";q=100;w=60, "daily";q=1000;w=86400',
      RateLimit: '"default";r=42;t=17, "daily";r=999;t=1',
    })
  })

  test('tell unit and partition where that is asked', () => {
    const told = fieldsOf(decision([policy()]), {
      quotaUnit: 'content-bytes',
      partitionKey: Buffer.from('App-999'),
    })
    expect(told).toEqual({
      'RateLimit-Policy': '"default";q=100;qu="content-bytes";w=60;pk=:QXBwLTk5OQ==:',
      RateLimit: '"default";r=42;t=17;pk=:QXBwLTk5OQ==:',
    })
  })

  test('of a concurrency limit have its unit and no window', () => {
    const slots = policy({
      name: 'slots',
      kind: 'concurrency',
      limit: 5,
      window: null,
      remaining: 4,
      resetAfter: 30_000,
    })
    expect(fieldsOf(decision([slots]), { quotaUnit: 'requests' })).toEqual({
      'RateLimit-Policy': '"slots";q=5;qu="concurrent-requests"',
      RateLimit: '"slots";r=4;t=30',
    })
  })

  test.each([
    [1, 1],
    [500, 1],
    [1_000, 1],
    [1_900, 2],
  ])('E26: a window of %i ms is printed as w=%i', (window, w) => {
    expect(fieldsOf(decision([policy({ window })]))['RateLimit-Policy']).toBe(`"default";q=100;w=${w}`)
  })

  test('are none where nothing is known', () => {
    expect(fieldsOf(decision([], { source: 'unavailable' }), { legacy: 'seconds' })).toEqual({})
  })

  test('of the older kind are those of the policy that decided', () => {
    const of = decision([policy()])
    const older = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '42' }
    expect(fieldsOf(of, { legacy: 'seconds' })).toMatchObject({ ...older, 'X-RateLimit-Reset': '17' })
    expect(fieldsOf(of, { legacy: 'epoch', now: 1_700_000_000_001 })).toMatchObject({
      ...older,
      'X-RateLimit-Reset': '1700000018',
    })
  })
})

describe('the fields of a refusal', () => {
  const second = policy({
    name: 'second',
    allowed: false,
    limit: 1,
    window: 1_000,
    remaining: 0,
    retryAfter: 301,
  })
  const minute = policy({ name: 'minute', resetAfter: 59_000 })

  test('E26: tell t for what refused alone, so that Retry-After is not earlier than any t', () => {
    const of = decision([second, minute])
    expect(fieldsOf(of).RateLimit).toBe('"second";r=0;t=1, "minute";r=42')
    expect(retryAfterSeconds(of)).toBe(1)
    expect(violatedPolicies(of)).toEqual(['second'])
  })

  test.each([
    [0, 1],
    [1, 1],
    [999, 1],
    [1_000, 1],
    [1_001, 2],
    [86_400_000, 86_400],
  ])('E26: after %i ms is Retry-After %i', (retryAfter, expected) => {
    expect(retryAfterSeconds(decision([policy({ allowed: false, retryAfter })]))).toBe(expected)
  })

  test('E26: Retry-After is whole, at least 1, not before the decision says, and not before any t', () => {
    const times = fc.integer({ min: 0, max: 31_536_000_000 })
    const policies = fc.array(fc.record({ allowed: fc.boolean(), retryAfter: times, resetAfter: times }), {
      minLength: 1,
      maxLength: 5,
    })
    fc.assert(
      fc.property(policies, times, (parts, remembered) => {
        const made = parts.map((part, n) =>
          policy({ ...part, name: `p${n}`, allowed: n > 0 && part.allowed }),
        )
        // A remembered denial counts down on its own.
        for (const of of [decision(made), decision(made, { retryAfter: remembered, source: 'remembered' })]) {
          const wait = retryAfterSeconds(of) ?? 0
          expect(Number.isInteger(wait) && wait >= 1).toBe(true)
          expect(wait * 1_000).toBeGreaterThanOrEqual(of.retryAfter ?? 0)
          for (const [, t] of String(fieldsOf(of).RateLimit).matchAll(/;t=(\d+)/g))
            expect(wait).toBeGreaterThanOrEqual(Number(t))
        }
      }),
    )
  })

  test('of a cost that never passes have neither t nor Retry-After', () => {
    const of = decision([policy({ allowed: false, never: true, retryAfter: null })], {
      never: true,
      retryAfter: null,
    })
    expect(fieldsOf(of).RateLimit).toBe('"default";r=42')
    expect(retryAfterSeconds(of)).toBeNull()
  })

  test('of a blocked subject say that nothing is left, until the block ends', () => {
    const of = decision([policy()], { allowed: false, policy: 'block', retryAfter: 5_000 })
    expect(fieldsOf(of, { legacy: 'seconds' })).toMatchObject({
      RateLimit: '"default";r=0;t=5',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '5',
    })
    expect(violatedPolicies(of)).toEqual(['block'])
  })
})
