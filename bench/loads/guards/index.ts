import type { WritesResult } from '../../client/guards/main.ts'
import type { GuardName } from '../../contenders/guards/index.ts'
import { interleave, PATIENCE_MS, withPatience } from '../../measurements.ts'
import type { Plan } from '../../plan.ts'
import type { Load } from '../load.ts'

/** One write after another to one row of Postgres, by the column of a guard and without one. */
export function guardLoads({ cycles: { rounds, warmUp, slice } }: Plan): readonly Load[] {
  const id = 'guard/column'
  return [
    {
      id,
      ours: 'holdfast guard',
      floor: 'plain UPDATE',
      rows: [
        { id: `${id}/p50`, metric: 'p50', unit: 'ms', better: 'lower' },
        { id: `${id}/statements`, metric: 'statements', unit: 'statements/write', better: 'lower' },
      ],
      run: (bench) => {
        const names: GuardName[] = ['plain UPDATE', 'holdfast guard']
        return interleave(bench, { load: id, names, rounds }, async (guard) => {
          const client = await bench.openGuard(guard)
          const write = (ms: number): Promise<WritesResult> =>
            withPatience(client.call<WritesResult>('writes', ms), ms + PATIENCE_MS)
          await write(warmUp)
          return { ...(await write(slice)) }
        })
      },
    },
  ]
}
