import type { Worker } from '../../../packages/lab/src/index.ts'
import type { Bench, BenchProxy } from '../../bench.ts'
import type { TakesResult, TakesWish } from '../../client/limits/takes.ts'
import type { LimiterName } from '../../contenders/limits/index.ts'
import type { OpenLimiterOptions } from '../../contenders/limits/limiter.ts'
import { interleave, PATIENCE_MS, withPatience, type Measurements } from '../../measurements.ts'
import type { Plan, Sampling } from '../../plan.ts'
import { isAimedAt } from '../../targets.ts'
import type { Load, RowSpec } from '../load.ts'
import { serverCpu } from '../server-cpu.ts'

/** Decisions for a time, so many at once, over one connection. */

/** What is asked. */
export interface Shape {
  readonly name: string
  readonly limits: OpenLimiterOptions['limits']
  readonly subjects: number
  /** Of ours; the others ask about each. */
  readonly lease: number | null
  /** On the way to the server, in milliseconds. */
  readonly delay: number
  /** Whether all are to pass, or the subject is used up and none is. */
  readonly passes: boolean
  readonly concurrencies: readonly number[]
  /** Where peers take part in a quick run too: the picture shows them as bars. */
  readonly barAt: number | null
}

const HOUR = 3_600_000

/** So slow that no bucket is full again, and its key gone, when the subject's next turn comes. */
const many: Shape = {
  name: '10000-subjects',
  limits: [{ kind: 'bucket', capacity: 1_000, refill: 1, per: 1_000 }],
  subjects: 10_000,
  lease: null,
  delay: 0,
  passes: true,
  concurrencies: [1, 8, 64, 512],
  barAt: 64,
}

/** So wide that nobody is denied, and so slow that leased tokens stay counted. */
const WIDE: OpenLimiterOptions['limits'] = [
  { kind: 'bucket', capacity: 10_000_000, refill: 1_000, per: 1_000 },
]

export const shapes: readonly Shape[] = [
  many,
  { ...many, name: '1ms', delay: 1, concurrencies: [1, 8, 64], barAt: null },
  { ...many, name: 'one-subject', limits: WIDE, subjects: 1, concurrencies: [64], barAt: null },
  {
    ...many,
    name: 'denied',
    limits: [{ kind: 'bucket', capacity: 10, refill: 1, per: HOUR }],
    subjects: 1,
    passes: false,
    concurrencies: [64],
  },
  {
    ...many,
    name: 'lease-100',
    limits: WIDE,
    subjects: 1,
    lease: 100,
    concurrencies: [64],
    barAt: null,
  },
]

const FASTEST: readonly LimiterName[] = ['rate-limit-redis', 'rate-limiter-flexible (cache)']

/** Before the first round, so that what a shape and its concurrency need is compiled; in milliseconds. */
const SETTLES = 250
/** Where answers come from memory, by code that no other shape runs. */
const SETTLES_LOCALLY = 500

/** The loads of a plan: all, or (without `aside`) those that have a target. */
export function takesLoads(plan: Plan): readonly Load[] {
  return shapes.flatMap((shape) =>
    shape.concurrencies.flatMap((concurrency) => {
      const rows = rowsOf(shape, concurrency)
      const main = shape.delay > 0 ? plan.delayed : plan.cycles
      const sampling = isAimedAt(rows.map(({ id }) => id)) ? main : plan.aside?.cycles
      return sampling === undefined ? [] : [takesLoad(shape, concurrency, rows, sampling)]
    }),
  )
}

export function takesId({ name }: Shape, concurrency: number): string {
  return `limit/${concurrency}/${name}`
}

function rowsOf(shape: Shape, concurrency: number): readonly RowSpec[] {
  const id = takesId(shape, concurrency)
  const rows: RowSpec[] = [
    { id: `${id}/throughput`, metric: 'throughput', unit: 'decisions/s', better: 'higher' },
    { id: `${id}/p50`, metric: 'p50', unit: 'ms', better: 'lower' },
  ]
  if (shape === many && concurrency === 64) {
    rows.push({ id: `${id}/cpu`, metric: 'cpu', unit: 'µs/decision', better: 'lower' })
    rows.push({ id: `${id}/server-cpu`, metric: 'serverCpu', unit: 'µs/decision', better: 'lower' })
  }
  return rows
}

function takesLoad(shape: Shape, concurrency: number, rows: readonly RowSpec[], sampling: Sampling): Load {
  const id = takesId(shape, concurrency)
  return {
    id,
    ours: 'holdfast limiter',
    floor: 'one script call',
    rows,
    async run(bench) {
      const proxy = shape.delay > 0 ? await bench.proxy({ counts: false, delay: shape.delay }) : null
      const withPeers = shape.barAt === concurrency || bench.plan.peersAside
      const names: LimiterName[] = ['one script call', 'holdfast limiter']
      if (withPeers) names.push(...peersOf(bench))
      try {
        return await measure(bench, { id, names, shape, concurrency, sampling, proxy })
      } finally {
        await proxy?.end()
      }
    },
  }
}

/** In a quick run only the fastest: each needs a process of its own. */
function peersOf({ limiterPeers, plan }: Bench): readonly LimiterName[] {
  return plan.peersAside ? limiterPeers : limiterPeers.filter((peer) => FASTEST.includes(peer))
}

interface TakesParts {
  readonly id: string
  readonly names: readonly LimiterName[]
  readonly shape: Shape
  readonly concurrency: number
  readonly sampling: Sampling
  readonly proxy: BenchProxy | null
}

async function measure(bench: Bench, parts: TakesParts): Promise<Measurements> {
  const { id, names, shape, concurrency, sampling, proxy } = parts
  const { rounds, peerRounds, warmUp, slice } = sampling
  const ready = new Map<LimiterName, ReadyTakes>()
  return interleave(bench, { load: id, names, rounds, peerRounds }, async (limiter) => {
    const takes = ready.get(limiter) ?? (await prepareTakes(bench, limiter, shape, proxy?.url))
    if (!ready.has(limiter)) {
      ready.set(limiter, takes)
      const local = shape.lease !== null || !shape.passes
      await takes.run({ concurrency, warmUp: 0, slice: local ? SETTLES_LOCALLY : SETTLES })
    }
    const before = await serverCpu(bench)
    const result = await takes.run({ concurrency, warmUp, slice })
    return { ...result, serverCpu: ((await serverCpu(bench)) - before) / result.takes }
  })
}

/** A limiter's process that is ready for a shape: connected, and the subject used up where it is to be denied. */
export interface ReadyTakes {
  readonly client: Worker
  readonly subject: string
  run(wish: Pick<TakesWish, 'concurrency' | 'warmUp' | 'slice'>): Promise<TakesResult>
}

export async function prepareTakes(
  bench: Bench,
  limiter: LimiterName,
  { limits, lease, subjects, passes }: Shape,
  url?: string,
): Promise<ReadyTakes> {
  const [client] = await bench.openLimiter(limiter, limits, url === undefined ? { lease } : { lease, url })
  if (client === undefined) throw new Error('no client')
  const subject = bench.freshName()
  if (!passes) await client.call('exhaust', `${subject}:0`)
  return {
    client,
    subject,
    async run(wish) {
      const taken = client.call<TakesResult>('takes', { ...wish, subject, subjects })
      const result = await withPatience(taken, wish.slice + PATIENCE_MS)
      // Whoever decides something else is not doing the same work.
      const expected = passes ? result.takes : 0
      if (result.passed !== expected)
        throw new Error(`${result.passed} of ${result.takes} passed, not ${expected}`)
      return result
    },
  }
}
