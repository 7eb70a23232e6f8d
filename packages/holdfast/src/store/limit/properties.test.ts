import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Ledger } from '../../testing/limit-ledger.ts'
import { capacityOf, type Policy, type PolicyKind } from './policy.ts'

/** One take of a trace: real time passes, the clock may be set back, then it asks. */
interface Ask {
  readonly passes: number
  readonly setBack: number
  readonly cost: number
}

interface Admitted {
  readonly cost: number
  /** Time as it really passed, and by the store's clock. */
  readonly real: number
  readonly time: number
}

const START = 1_700_000_000_123
const PERS = [1, 2, 7, 50, 500, 1_900, 60_000, 31_536_000_000]
const WINDOWS: readonly PolicyKind[] = ['fixed-window', 'sliding-window', 'sliding-counter']
const KINDS: readonly PolicyKind[] = [...WINDOWS, 'token-bucket', 'leaky-bucket', 'concurrency']

const policies = (kind: PolicyKind): fc.Arbitrary<Policy> =>
  fc
    .record({
      limit: fc.integer({ min: 1, max: 12 }),
      rate: fc.integer({ min: 1, max: 30 }),
      per: fc.constantFrom(...PERS),
    })
    .map(({ limit, rate, per }): Policy => {
      const name = kind
      if (kind === 'token-bucket') return { kind, name, capacity: limit, refill: rate, per }
      if (kind === 'leaky-bucket') return { kind, name, capacity: limit, rate, per }
      if (kind === 'concurrency') return { kind, name, limit, lease: per }
      return { kind, name, limit, per }
    })

const spanIn = (policy: Policy): number => (policy.kind === 'concurrency' ? policy.lease : policy.per)

/** Traces that dwell at the edges: no time at all, a part of the span, all of it, one millisecond more or less. */
function traces(policy: Policy, setsBack: boolean): fc.Arbitrary<Ask[]> {
  const span = spanIn(policy)
  const pause = fc.oneof(
    fc.constantFrom(0, 0, 0, 1, span - 1, span, span + 1, 2 * span),
    fc.integer({ min: 0, max: span }),
    fc.integer({ min: 0, max: Math.ceil(span / 10) }),
  )
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 * span }) },
  )
  return fc.array(
    fc.record({
      passes: pause,
      setBack: setsBack ? step : fc.constant(0),
      cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: capacityOf(policy) })),
    }),
    { minLength: 1, maxLength: 60 },
  )
}

const scenes = (kind: PolicyKind, setsBack: boolean): fc.Arbitrary<{ policy: Policy; trace: Ask[] }> =>
  policies(kind).chain((policy) =>
    fc.record({ policy: fc.constant(policy), trace: traces(policy, setsBack) }),
  )

/** Runs a trace; `see` looks at the ledger before each take. */
function run(
  { policy, trace }: { policy: Policy; trace: readonly Ask[] },
  see: (ledger: Ledger, now: number, ask: Ask) => void = () => {},
): Admitted[] {
  const ledger = new Ledger(policy)
  const admitted: Admitted[] = []
  let [real, time] = [START, START]
  for (const ask of trace) {
    real += ask.passes
    time += ask.passes - ask.setBack
    see(ledger, time, ask)
    if (ledger.take(ask.cost, time).allowed) admitted.push({ cost: ask.cost, real, time })
  }
  return admitted
}

/** One that goes its own way. What is kept is a value. */
function copyOf(ledger: Ledger): Ledger {
  const copy = new Ledger(...ledger.policies)
  copy.subject = ledger.subject
  return copy
}

/** The greatest cost that was admitted within any span of time, the span's end excluded. */
function mostWithin(span: number, admitted: readonly Admitted[]): number {
  let most = 0
  let sum = 0
  let from = 0
  for (const { cost, real } of admitted) {
    sum += cost
    while ((admitted[from]?.real ?? real) <= real - span) sum -= admitted[from++]?.cost ?? 0
    most = Math.max(most, sum)
  }
  return most
}

describe('no window admits more than its bound, also when the clock is set back', () => {
  test.each(['sliding-window', 'concurrency'] as const)('%s: the limit in any span', (kind) => {
    fc.assert(
      fc.property(scenes(kind, true), (scene) => {
        expect(mostWithin(spanIn(scene.policy), run(scene))).toBeLessThanOrEqual(capacityOf(scene.policy))
      }),
    )
  })

  test('fixed window: the limit in each of its windows', () => {
    fc.assert(
      fc.property(scenes('fixed-window', false), (scene) => {
        const counts = new Map<number, number>()
        for (const { time, cost } of run(scene)) {
          const window = Math.floor(time / spanIn(scene.policy))
          counts.set(window, (counts.get(window) ?? 0) + cost)
        }
        for (const count of counts.values()) expect(count).toBeLessThanOrEqual(capacityOf(scene.policy))
      }),
    )
  })

  test('fixed window: every time that the clock is set back lets it through once more at most', () => {
    fc.assert(
      fc.property(scenes('fixed-window', true), (scene) => {
        const steps = scene.trace.filter(({ setBack }) => setBack > 0).length
        const most = mostWithin(spanIn(scene.policy), run(scene))
        expect(most).toBeLessThanOrEqual((2 + steps) * capacityOf(scene.policy))
      }),
    )
  })

  test.each(['token-bucket', 'leaky-bucket'] as const)(
    '%s: in any span its capacity and what flows in it',
    (kind) => {
      fc.assert(
        fc.property(scenes(kind, true), (scene) => {
          const { policy } = scene
          if (policy.kind !== 'token-bucket' && policy.kind !== 'leaky-bucket') return
          const rate = BigInt(policy.kind === 'token-bucket' ? policy.refill : policy.rate)
          const admitted = run(scene)
          for (const [i, first] of admitted.entries()) {
            let sum = 0n
            for (const { cost, real } of admitted.slice(i)) {
              sum += BigInt(cost)
              const flows = BigInt(real - first.real) * rate
              expect(sum * BigInt(policy.per)).toBeLessThanOrEqual(
                BigInt(policy.capacity) * BigInt(policy.per) + flows,
              )
            }
          }
        }),
      )
    },
  )

  test('sliding counter: what its formula says, in exact arithmetic', () => {
    fc.assert(
      fc.property(scenes('sliding-counter', false), ({ policy, trace }) => {
        const per = BigInt(spanIn(policy))
        const sums = new Map<bigint, bigint>()
        const ledger = new Ledger(policy)
        let now = START
        for (const { passes, cost } of trace) {
          now += passes
          const window = BigInt(now) / per
          const [current, before] = [sums.get(window) ?? 0n, sums.get(window - 1n) ?? 0n]
          const left = per - (BigInt(now) % per)
          const passesExactly =
            before * left + (current + BigInt(cost)) * per <= BigInt(capacityOf(policy)) * per
          expect(ledger.take(cost, now).allowed).toBe(passesExactly)
          if (passesExactly) sums.set(window, current + BigInt(cost))
        }
      }),
    )
  })

  test.each(['sliding-window', 'token-bucket'] as const)(
    'E16: %s, with refunds that are early, late, or of nothing',
    (kind) => {
      fc.assert(
        fc.property(scenes(kind, false), fc.array(fc.nat({ max: 7 })), ({ policy, trace }, whims) => {
          const ledger = new Ledger(policy)
          let takes: Admitted[] = []
          let now = START
          for (const [i, { passes, cost }] of trace.entries()) {
            now += passes
            // About every other step gives back one of the first few takes.
            const refunded = takes[whims[i] ?? 7]
            if (refunded !== undefined) {
              ledger.adjust({ at: refunded.time, taken: refunded.cost, cost: 0 }, now)
              // What was given back was not used.
              takes = takes.filter((other) => other !== refunded)
            } else if (ledger.take(cost, now).allowed) takes = [...takes, { cost, real: now, time: now }]
            if (policy.kind === 'sliding-window')
              expect(mostWithin(policy.per, takes)).toBeLessThanOrEqual(policy.limit)
            if (policy.kind !== 'token-bucket') continue
            for (const [j, first] of takes.entries()) {
              const used = takes.slice(j).reduce((sum, take) => sum + take.cost, 0)
              expect(used * policy.per).toBeLessThanOrEqual(
                policy.capacity * policy.per + (now - first.time) * policy.refill,
              )
            }
          }
        }),
      )
    },
  )
})

describe.each(KINDS)('%s', (kind) => {
  test('E4: a denied take changes nothing', () => {
    fc.assert(
      fc.property(scenes(kind, true), ({ policy, trace }) => {
        const [with_, without] = [new Ledger(policy), new Ledger(policy)]
        let now = START
        for (const { passes, setBack, cost } of trace) {
          now += passes - setBack
          const denied = !without.peek(cost, now).allowed
          const verdict = with_.take(cost, now)
          expect(verdict.allowed).toBe(!denied)
          // Where it was denied the other ledger is asked for something that is always refused alike, but is not told of it.
          if (denied) expect(with_.peek(1, now)).toEqual(without.peek(1, now))
          else expect(without.take(cost, now)).toEqual(verdict)
          // A clock that was set back makes itself felt in either.
          if (setBack > 0) without.adjust({ at: -1, taken: 0, cost: 0 }, now)
        }
      }),
    )
  })

  test('E11: a retry at retryAfter passes, and one millisecond earlier fails', () => {
    fc.assert(
      fc.property(scenes(kind, true), (scene) => {
        run(scene, (ledger, now, { cost }) => {
          const asked = copyOf(ledger)
          const { allowed, retryAfter } = asked.take(cost, now)
          if (allowed) return expect(retryAfter).toBe(0)
          expect(retryAfter).toBeGreaterThan(0)
          expect(asked.peek(cost, now + retryAfter).allowed).toBe(true)
          if (retryAfter > 1) expect(asked.peek(cost, now + retryAfter - 1).allowed).toBe(false)
        })
      }),
    )
  })

  test('E7: remaining is just what passes', () => {
    fc.assert(
      fc.property(scenes(kind, true), (scene) => {
        const capacity = capacityOf(scene.policy)
        run(scene, (ledger, now) => {
          const { allowed, remaining } = ledger.peek(1, now)
          const left = allowed ? remaining + 1 : 0
          expect(left <= capacity && (allowed || remaining === 0)).toBe(true)
          if (left > 0) expect(ledger.peek(left, now)).toMatchObject({ allowed: true, remaining: 0 })
          if (left < capacity) expect(ledger.peek(left + 1, now).allowed).toBe(false)
        })
      }),
    )
  })

  test('E10: at resetAfter nothing counts, one millisecond earlier something does; expiry is as told', () => {
    fc.assert(
      fc.property(scenes(kind, true), (scene) => {
        const { policy } = scene
        run(scene, (ledger, now, { cost }) => {
          const taken = copyOf(ledger)
          const { resetAfter } = taken.take(cost, now)
          // A counter that was moved on may tell less than it is kept for.
          if (kind !== 'sliding-counter') expect(taken.expires).toBe(resetAfter === 0 ? 0 : now + resetAfter)
          const rest = (later: number) => taken.peek(capacityOf(policy) + 1, later).resetAfter
          expect(rest(now + resetAfter)).toBe(0)
          if (resetAfter > 0) expect(rest(now + resetAfter - 1)).toBe(1)
        })
      }),
    )
  })

  test('E12: peek says what take says, and writes nothing', () => {
    fc.assert(
      fc.property(scenes(kind, true), (scene) => {
        run(scene, (ledger, now, { cost }) => {
          const before = ledger.subject
          const peeked = ledger.peekAll(cost, now)
          expect(ledger.subject).toBe(before)
          expect(copyOf(ledger).takeAll(cost, now)).toEqual(peeked)
        })
      }),
    )
  })

  test('E5: with countDenied usage never exceeds the limit, and E11 holds', () => {
    fc.assert(
      fc.property(scenes(kind, true), ({ policy, trace }) => {
        const ledger = new Ledger(policy)
        let now = START
        for (const { passes, setBack, cost } of trace) {
          now += passes - setBack
          const { allowed, retryAfter } = ledger.take(cost, now, { countDenied: true })
          if (allowed) continue
          expect(retryAfter).toBeGreaterThan(0)
          expect(ledger.peek(cost, now + retryAfter).allowed).toBe(true)
          if (retryAfter > 1) expect(ledger.peek(cost, now + retryAfter - 1).allowed).toBe(false)
        }
      }),
    )
  })

  test('E20: nobody is locked out for longer than the span, or two of a counter, whatever the clock does', () => {
    fc.assert(
      fc.property(scenes(kind, true), ({ policy, trace }) => {
        if (policy.kind === 'token-bucket' || policy.kind === 'leaky-bucket') return
        const longest = spanIn(policy) * (policy.kind === 'sliding-counter' ? 2 : 1)
        run({ policy, trace }, (ledger, now, { cost }) => {
          expect(ledger.peek(cost, now).retryAfter).toBeLessThanOrEqual(longest)
        })
      }),
    )
  })
})
