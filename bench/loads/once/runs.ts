import type { RunsResult, RunsWish } from '../../client/once/runs.ts'
import type { OnceName } from '../../contenders/once/index.ts'
import { interleave, PATIENCE_MS, withPatience } from '../../measurements.ts'
import type { Plan, Sampling } from '../../plan.ts'
import { isAimedAt } from '../../targets.ts'
import type { Load, RowSpec } from '../load.ts'

/** First calls and replays for a time, so many at once, over one connection. */

const shapes: readonly { readonly kind: RunsWish['kind']; readonly concurrency: number }[] = [
  { kind: 'first', concurrency: 1 },
  { kind: 'first', concurrency: 64 },
  { kind: 'replay', concurrency: 1 },
  { kind: 'replay', concurrency: 64 },
]

/** Before the first round, so that what a shape needs is compiled; in milliseconds. */
const SETTLES = 250

/** The loads of a plan: all, or (without `aside`) those that have a target. */
export function runsLoads(plan: Plan): readonly Load[] {
  return shapes.flatMap(({ kind, concurrency }) => {
    const id = `once/${concurrency}/${kind}`
    const rows: RowSpec[] = [
      { id: `${id}/throughput`, metric: 'throughput', unit: 'calls/s', better: 'higher' },
      { id: `${id}/p50`, metric: 'p50', unit: 'ms', better: 'lower' },
    ]
    const sampling = isAimedAt(rows.map((row) => row.id)) ? plan.cycles : plan.aside?.cycles
    return sampling === undefined ? [] : [runsLoad(id, kind, concurrency, rows, sampling)]
  })
}

function runsLoad(
  id: string,
  kind: RunsWish['kind'],
  concurrency: number,
  rows: readonly RowSpec[],
  { rounds, warmUp, slice }: Sampling,
): Load {
  return {
    id,
    ours: 'holdfast idempotency',
    floor: 'two script calls',
    rows,
    run: (bench) => {
      const names: OnceName[] = ['two script calls', 'holdfast idempotency']
      const settled = new Set<OnceName>()
      return interleave(bench, { load: id, names, rounds }, async (once) => {
        const client = await bench.openOnce(once)
        const run = (wish: Pick<RunsWish, 'warmUp' | 'slice'>): Promise<RunsResult> => {
          const asked = client.call<RunsResult>('runs', {
            kind,
            concurrency,
            prefix: bench.freshName(),
            ...wish,
          })
          return withPatience(asked, wish.slice + PATIENCE_MS)
        }
        if (!settled.has(once)) await run({ warmUp: 0, slice: SETTLES })
        settled.add(once)
        return { ...(await run({ warmUp, slice })) }
      })
    },
  }
}
