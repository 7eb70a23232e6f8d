import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readSubject, writeSubject } from './subject-text.ts'
import * as subjects from './subject.ts'
import type { Policy } from './policy.ts'

const START = 1_700_000_000_123
const POLICIES: readonly Policy[] = [
  { kind: 'sliding-window', name: 'log', limit: 8, per: 40 },
  { kind: 'concurrency', name: 'slots', limit: 6, lease: 30 },
  { kind: 'token-bucket', name: 'bucket', capacity: 9, refill: 7, per: 50 },
]

const steps = fc.array(
  fc.record({
    passes: fc.constantFrom(0, 1, 1, 3, 15, 41),
    what: fc.constantFrom('take', 'take', 'adjust', 'adjust', 'renew'),
    cost: fc.integer({ min: 0, max: 4 }),
    /** Which of the takes so far. */
    of: fc.nat(4),
    returnAfter: fc.constantFrom(null, null, 10),
  }),
  { minLength: 2, maxLength: 40 },
)

describe('a subject as text', () => {
  test('is answered as the subject itself, whatever was taken, given back and counted anew', () => {
    fc.assert(
      fc.property(steps, (trace) => {
        const kept = walk(trace, (subject) => subject)
        const written = walk(trace, (subject) => readSubject(writeSubject(subject)))
        expect(written).toEqual(kept)
      }),
      { numRuns: 1_000 },
    )
  })
})

type Trace = typeof steps extends fc.Arbitrary<infer T> ? T : never

/** What each step is answered when the subject is kept so between them. */
function walk(trace: Trace, keep: (subject: subjects.Subject) => subjects.Subject): unknown[] {
  let subject: subjects.Subject | null = null
  let now = START
  const takes: { take: string; at: number; taken: number }[] = []
  return trace.map(({ passes, what, cost, of, returnAfter }, i) => {
    now += passes
    const taken = takes[takes.length - 1 - (of % Math.max(1, takes.length))]
    const step: subjects.Step<unknown> =
      what === 'take' || taken === undefined
        ? subjects.take(
            subject,
            { policies: POLICIES, cost: Math.max(1, cost), id: `${i}`, countDenied: false, returnAfter },
            now,
          )
        : what === 'adjust'
          ? subjects.adjust(subject, { policies: POLICIES, id: `${i}`, ...taken, cost }, now)
          : subjects.renew(subject, { policies: POLICIES, take: taken.take }, now)
    if (what === 'take' || taken === undefined)
      takes.push({ take: `${i}`, at: now, taken: Math.max(1, cost) })
    else if (what === 'adjust') taken.taken = cost
    subject = step.subject === null ? null : keep(step.subject)
    return step.result
  })
}
