import type { ContenderName } from '../contenders/index.ts'
import { interleave } from '../measurements.ts'
import type { Plan } from '../plan.ts'
import type { Load } from './load.ts'
import { cycles } from './quorum.ts'

/** Plain and acknowledged acquires at a primary with two replicas, and what another client feels meanwhile. */

const ours: ContenderName = 'holdfast acknowledged'
const plain: ContenderName = 'holdfast'
/** Somebody else at the same primary, one cycle after another. */
const other: ContenderName = 'raw'

/** Before the first round, so that what this concurrency needs is compiled; in milliseconds. */
const SETTLES = 150

/** The loads of a plan: without `aside` none, since there is no target. */
export function acknowledgedLoads(plan: Plan): readonly Load[] {
  const { aside } = plan
  return aside === null ? [] : [1, 64].map((concurrency) => acknowledgedLoad(aside.cycles, concurrency))
}

function acknowledgedLoad({ rounds, warmUp, slice }: Plan['cycles'], concurrency: number): Load {
  const id = `acknowledged/${concurrency}`
  return {
    id,
    ours,
    floor: plain,
    rows: [
      { id: `${id}/throughput`, metric: 'throughput', unit: 'cycles/s', better: 'higher' },
      { id: `${id}/p50`, metric: 'p50', unit: 'ms', better: 'lower' },
      { id: `${id}/others-p50`, metric: 'others', unit: 'ms', better: 'lower' },
    ],
    async run(bench) {
      const url = await bench.replicatedServer()
      const [bystander] = await bench.open(other, { url })
      const ready = new Set<ContenderName>()
      try {
        return await interleave(bench, { load: id, names: [plain, ours], rounds }, async (contender) => {
          if (!ready.has(contender)) {
            const [client] = await bench.open(contender, { url })
            await cycles(client, { concurrency, warmUp: 0, slice: SETTLES })
            ready.add(contender)
          }
          const [client] = await bench.fleet.clients(contender, 1)
          const [own, others] = await Promise.all([
            cycles(client, { concurrency, warmUp, slice }),
            cycles(bystander, { concurrency: 1, warmUp, slice }),
          ])
          return { ...own, others: others.p50 }
        })
      } finally {
        // Others are at the single server.
        for (const name of [plain, ours, other]) await bench.fleet.dismiss(name)
      }
    },
  }
}
