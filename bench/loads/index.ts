import type { Plan } from '../plan.ts'
import { commandsLoad } from './commands.ts'
import { contendedLoads } from './contended.ts'
import { cycleLoads } from './cycle.ts'
import { drainLoad } from './drain.ts'
import { heapLoad } from './heap.ts'
import type { Load } from './load.ts'
import { renewLoad } from './renew.ts'

/** All loads of a plan, in the order in which they run and are reported. */
export function loadsOf(plan: Plan): readonly Load[] {
  return [...cycleLoads(plan), commandsLoad, ...contendedLoads(plan), drainLoad, renewLoad, heapLoad]
}
