import type { Worker } from '../../packages/lab/src/index.ts'
import type { CyclesResult, CyclesWish } from '../client/cycles.ts'
import { quorumPeers, type ContenderName } from '../contenders/index.ts'
import { interleave, PATIENCE_MS, withPatience } from '../measurements.ts'
import type { Plan } from '../plan.ts'
import type { Load, RowSpec } from './load.ts'

/** Acquire and release over five independent servers, so many at once on names of their own. */

/** Before the first round, so that what this concurrency needs is compiled; in milliseconds. */
const SETTLES = 150

/** The loads of a plan. */
export function quorumLoads(plan: Plan): readonly Load[] {
  return [
    quorumLoad(plan, 'quorum', 'holdfast quorum', 1),
    quorumLoad(plan, 'quorum+fence', 'holdfast quorum with fences', 1),
    quorumLoad(plan, 'quorum', 'holdfast quorum', 64),
    quorumLoad(plan, 'quorum+fence', 'holdfast quorum with fences', 64),
  ]
}

function quorumLoad(plan: Plan, prefix: string, ours: ContenderName, concurrency: number): Load {
  const id = `${prefix}/${concurrency}`
  const rows: readonly RowSpec[] = [
    { id: `${id}/throughput`, metric: 'throughput', unit: 'cycles/s', better: 'higher' },
    { id: `${id}/p50`, metric: 'p50', unit: 'ms', better: 'lower' },
  ]
  const { rounds, peerRounds, warmUp, slice } = plan.cycles
  return {
    id,
    ours,
    floor: 'five pairs',
    rows,
    async run(bench) {
      const url = await bench.fiveServers()
      const names: ContenderName[] = ['five pairs', ours, ...(bench.peers.length > 0 ? quorumPeers : [])]
      const ready = new Set<ContenderName>()
      return interleave(bench, { load: id, names, rounds, peerRounds }, async (contender) => {
        if (!ready.has(contender)) {
          const [client] = await bench.open(contender, { url })
          await cycles(client, { concurrency, warmUp: 0, slice: SETTLES })
          ready.add(contender)
        }
        const [client] = await bench.fleet.clients(contender, 1)
        return { ...(await cycles(client, { concurrency, warmUp, slice })) }
      })
    },
  }
}

/** Cycles of one client process. */
export function cycles(client: Worker | undefined, wish: CyclesWish): Promise<CyclesResult> {
  if (client === undefined) throw new Error('no client')
  return withPatience(client.call<CyclesResult>('cycles', { ...wish }), wish.slice + PATIENCE_MS)
}
