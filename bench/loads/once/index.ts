import type { Plan } from '../../plan.ts'
import type { Load } from '../load.ts'
import { runsLoads } from './runs.ts'
import { singleFlightLoad } from './single-flight.ts'

/** All loads of idempotency. */
export function onceLoads(plan: Plan): readonly Load[] {
  return [...runsLoads(plan), singleFlightLoad]
}
