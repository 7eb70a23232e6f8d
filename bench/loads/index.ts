import type { Plan } from '../plan.ts'
import { acknowledgedLoads } from './acknowledged.ts'
import { commandsLoad } from './commands.ts'
import { contendedLoads } from './contended.ts'
import { cycleLoads } from './cycle.ts'
import { drainLoad } from './drain.ts'
import { heapLoad } from './heap.ts'
import { guardLoads } from './guards/index.ts'
import { limitLoads } from './limits/index.ts'
import type { Load } from './load.ts'
import { onceLoads } from './once/index.ts'
import { quorumLoads } from './quorum.ts'
import { renewLoad } from './renew.ts'

/** All loads of a plan, in the order in which they run and are reported. */
export function loadsOf(plan: Plan): readonly Load[] {
  return [
    ...cycleLoads(plan),
    commandsLoad,
    ...contendedLoads(plan),
    drainLoad,
    renewLoad,
    heapLoad,
    ...limitLoads(plan),
    ...onceLoads(plan),
    ...guardLoads(plan),
    ...quorumLoads(plan),
    ...acknowledgedLoads(plan),
  ]
}
