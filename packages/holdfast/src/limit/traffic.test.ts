import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import type { Policy } from '../store/limit/policy.ts'
import { LimiterBench } from '../testing/limiter-bench.ts'
import type { StoreTake } from './counted.ts'
import { MadeDecision } from './made-decision.ts'
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingWindow,
  tokenBucket,
} from './policies.ts'

/**
 * Goal: whatever several processes do at once, no window admits more than its bound.
 * Method: random traffic of three limiters over one store in memory: costs, pauses, refunds, waits, aborts, lost answers. What
 * was admitted and not given back is counted in every window.
 */

type Step =
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'take' | 'refund' | 'wait'; readonly by: number; readonly cost: number }
  | { readonly do: 'trouble'; readonly kind: 'unanswered' | 'unsent' | null }

interface Admitted {
  readonly time: number
  readonly cost: number
}

const by = fc.nat(2)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(700) }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('take' as const), by, cost: fc.integer({ min: 1, max: 6 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund' as const), by, cost: fc.constant(1) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), by, cost: fc.integer({ min: 1, max: 6 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('trouble' as const),
      kind: fc.constantFrom('unanswered' as const, 'unsent' as const, null),
    }),
  },
)

let bench: LimiterBench

afterEach(async () => {
  bench.heal()
  await Promise.all([bench.hf.close(), bench.other.close()])
})

/** Plays the steps; what was admitted and not given back. Slots are held for half a second each. */
async function play(
  policies: readonly Policy[],
  steps: readonly Step[],
): Promise<{ admitted: Admitted[]; atOnce: number }> {
  bench = new LimiterBench()
  const limiters = [bench.hf, bench.other, bench.another()].map((hf) => hf.limiter('api', policies))
  const admitted = new Map<object, Admitted>()
  let [held, atOnce] = [0, 0]
  const note = (decision: Awaited<ReturnType<(typeof limiters)[0]['take']>>, cost: number): void => {
    if (!decision.allowed) return
    // By the store's clock, since the answer may have been late.
    const { at } = MadeDecision.countedOf(decision) as StoreTake
    admitted.set(decision, { time: at, cost })
    const { slot } = decision
    if (slot === undefined) return
    held += cost
    atOnce = Math.max(atOnce, held)
    bench.clock.setTimer(() => {
      held -= cost
      void slot.release().catch(() => undefined)
    }, 500)
  }
  const pending: Promise<unknown>[] = []
  for (const each of steps) {
    if (each.do === 'pass') await bench.clock.advance(each.ms)
    else if (each.do === 'trouble') {
      if (each.kind === null) bench.heal()
      else bench.trouble(each.kind)
    } else {
      const limiter = limiters[each.by] as (typeof limiters)[0]
      if (each.do === 'refund') {
        const [decision] = [...admitted.keys()].filter((d) => !('slot' in d)).slice(-1)
        if (decision === undefined) continue
        pending.push(
          limiter.refund('u', decision as never).then(
            (given) => given && admitted.delete(decision),
            // It may have been given back.
            () => admitted.delete(decision),
          ),
        )
      } else {
        const asked =
          each.do === 'take'
            ? limiter.take('u', { cost: each.cost })
            : limiter.waitFor('u', { cost: each.cost, wait: 2_000 })
        pending.push(
          asked.then(
            (decision) => note(decision, each.cost),
            () => undefined,
          ),
        )
      }
      await bench.clock.settle()
    }
  }
  await bench.clock.advance(3_000)
  await Promise.all(pending)
  return { admitted: [...admitted.values()], atOnce }
}

function inSpan(admitted: readonly Admitted[], from: number, to: number): number {
  return admitted.reduce((sum, { time, cost }) => (time >= from && time < to ? sum + cost : sum), 0)
}

/** For every policy: the first window that holds more than it may, or nothing. */
const violations: Record<
  Policy['kind'],
  (admitted: readonly Admitted[], policy: never, atOnce: number) => string[]
> = {
  'sliding-window': (admitted, { limit, per }: { limit: number; per: number }) =>
    admitted
      .filter(({ time }) => inSpan(admitted, time, time + per) > limit)
      .map(({ time }) => `from ${time}`),
  'fixed-window': (admitted, { limit, per }: { limit: number; per: number }) =>
    admitted
      .map(({ time }) => Math.floor(time / per) * per)
      .filter((start) => inSpan(admitted, start, start + per) > limit)
      .map((start) => `window ${start}`),
  'sliding-counter': (admitted, { limit, per }: { limit: number; per: number }) =>
    admitted
      .map(({ time }) => Math.floor(time / per) * per)
      .filter((start) => inSpan(admitted, start, start + per) > limit)
      .map((start) => `window ${start}`),
  'token-bucket': (admitted, { capacity, refill, per }: { capacity: number; refill: number; per: number }) =>
    bucketViolations(admitted, capacity, refill / per),
  'leaky-bucket': (admitted, { capacity, rate, per }: { capacity: number; rate: number; per: number }) =>
    bucketViolations(admitted, capacity, rate / per),
  concurrency: (_admitted, { limit }: { limit: number }, atOnce) =>
    atOnce > limit ? [`${atOnce} at once`] : [],
}

function bucketViolations(admitted: readonly Admitted[], capacity: number, perMs: number): string[] {
  return admitted.flatMap(({ time: from }) =>
    admitted
      .filter(({ time: to }) => to >= from)
      .filter(({ time: to }) => inSpan(admitted, from, to + 1) > capacity + (to - from) * perMs + 1e-9)
      .map(({ time: to }) => `from ${from} to ${to}`),
  )
}

describe('over random traffic of several processes', () => {
  const sets: readonly (readonly Policy[])[] = [
    [fixedWindow({ limit: 9, per: '1s' })],
    [slidingWindow({ limit: 9, per: '1s' })],
    [slidingCounter({ limit: 9, per: '1s' })],
    [tokenBucket({ capacity: 9, refill: 3, per: '1s' })],
    [leakyBucket({ capacity: 9, rate: 3, per: '1s' })],
    [concurrency({ limit: 9, lease: '2s' })],
    [
      tokenBucket({ capacity: 7, refill: 5, per: '1s' }),
      slidingWindow({ limit: 12, per: '3s' }),
      fixedWindow({ limit: 20, per: '7s' }),
    ],
  ]

  test.each(sets.map((policies) => [policies.map(({ name }) => name).join(' and '), policies] as const))(
    '%s: no window admits more than its bound',
    async (_names, policies) => {
      let some = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
          const { admitted, atOnce } = await play(policies, steps)
          some += admitted.length
          for (const policy of policies)
            expect([policy.name, ...violations[policy.kind](admitted, policy as never, atOnce)]).toEqual([
              policy.name,
            ])
        }),
        { numRuns: 25, seed: 20_260_101 },
      )
      expect(some).toBeGreaterThan(100)
    },
  )
})
