import type { Bench } from '../../bench.ts'
import type { FillWish } from '../../client/limits/fill.ts'
import type { LimiterName } from '../../contenders/limits/index.ts'
import { interleave, type Slice } from '../../measurements.ts'
import type { Load } from '../load.ts'

/**
 * What a decision costs the server when an exact window is large, against a small one: what searches its log from scratch
 * grows with it. One decision after another, so that each is a call of its own.
 */

const SMALL = 100
const LARGE = 1_000_000
const HOUR = 3_600_000
/** A little more than the server's millisecond, so that each take is an entry of its own. */
const EVERY_MS = 1.05
const DECISIONS = 2_000

interface Window {
  readonly limit: number
  /** In milliseconds. */
  readonly per: number
  /** What is taken before. */
  readonly filled: { readonly takes: number; readonly cost: number }
}

interface Pair {
  readonly id: string
  readonly small: Window
  readonly large: Window
  /** Whether all decisions admit, or all deny. */
  readonly passes: boolean
}

/** Both windows are full. */
function deniedPair(takes: number): Pair {
  return {
    id: 'limit/server/denied',
    small: { limit: SMALL, per: HOUR, filled: { takes: SMALL, cost: 1 } },
    large: { limit: LARGE, per: HOUR, filled: { takes, cost: LARGE / takes } },
    passes: false,
  }
}

/** With each take that passes, an old one leaves. The small window is so short that one at a time does not fill it. */
function admittedPair(takes: number): Pair {
  return {
    id: 'limit/server/admitted',
    small: { limit: SMALL, per: 3, filled: { takes: 10, cost: 1 } },
    large: { limit: LARGE, per: takes, filled: { takes, cost: 1 } },
    passes: true,
  }
}

export function serverTimeLoads(takes: number): readonly Load[] {
  return [deniedPair(takes), admittedPair(takes)].map((pair) => {
    const { id } = pair
    return {
      id,
      ours: 'holdfast limiter',
      floor: 'one script call',
      rows: [{ id, metric: 'growth', unit: 'server µs, × that at 100', better: 'lower' }],
      async run(bench) {
        const names: LimiterName[] = ['holdfast limiter']
        const { rounds, floorOfServerTime } = bench.plan.limits
        if (floorOfServerTime) names.unshift('one script call')
        return interleave(bench, { load: id, names, rounds }, (limiter) => growth(bench, limiter, pair))
      },
    }
  })
}

/** The small one is measured before and after, so that a machine that becomes slower does not count. */
async function growth(bench: Bench, limiter: LimiterName, { small, large, passes }: Pair): Promise<Slice> {
  const [smallSubject, largeSubject] = [bench.freshName(), bench.freshName()]
  await fill(bench, limiter, small, smallSubject)
  const before = await micros(bench, limiter, { window: small, subject: smallSubject, passes })
  await fill(bench, limiter, large, largeSubject)
  const largeMicros = await micros(bench, limiter, { window: large, subject: largeSubject, passes })
  const after = await micros(bench, limiter, { window: small, subject: smallSubject, passes })
  return { growth: largeMicros / ((before + after) / 2) }
}

async function fill(
  bench: Bench,
  limiter: LimiterName,
  { limit, per, filled }: Window,
  subject: string,
): Promise<void> {
  const [client] = await bench.openLimiter(limiter, [{ kind: 'window', limit, per }], { patient: true })
  const wish: FillWish = { subject, ...filled, every: EVERY_MS }
  await client?.call('fill', { ...wish })
}

interface Measured {
  readonly window: Window
  readonly subject: string
  readonly passes: boolean
}

/** Of the server, for a decision, in its scripts. */
async function micros(
  bench: Bench,
  limiter: LimiterName,
  { window: { limit, per }, subject, passes }: Measured,
): Promise<number> {
  // Every denial is to come from the server.
  const [client] = await bench.openLimiter(limiter, [{ kind: 'window', limit, per }], {
    remembers: false,
    patient: true,
  })
  const before = await scriptMicros(bench)
  const passed = await client?.call<number>('oneByOne', subject, DECISIONS)
  const taken = (await scriptMicros(bench)) - before
  const expected = passes ? DECISIONS : 0
  if (passed !== expected) throw new Error(`${passed} of ${DECISIONS} passed, not ${expected}`)
  return taken / DECISIONS
}

/** Time that the server has spent in scripts so far. */
async function scriptMicros({ redis }: Bench): Promise<number> {
  const stats = await redis.info('commandstats')
  const usecOf = (command: string): number =>
    Number(/usec=(\d+)/.exec(stats[`cmdstat_${command}`] ?? '')?.[1] ?? 0)
  return usecOf('evalsha') + usecOf('eval')
}
