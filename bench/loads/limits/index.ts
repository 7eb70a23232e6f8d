import type { Plan } from '../../plan.ts'
import type { Load } from '../load.ts'
import { limitCommandsLoad } from './commands.ts'
import { memoryLoads } from './memory.ts'
import { overAdmissionLoad } from './over-admission.ts'
import { serverTimeLoads } from './server-time.ts'
import { takesLoads } from './takes.ts'

/** All loads of limits. */
export function limitLoads(plan: Plan): readonly Load[] {
  return [
    ...takesLoads(plan),
    overAdmissionLoad,
    limitCommandsLoad,
    ...memoryLoads(plan),
    ...serverTimeLoads(plan.limits.filled),
  ]
}
