import { judge, type Judgement } from './judge/judge.ts'
import { assertDrains, drainMicrotasks } from './microtasks.ts'
import type { Plan } from './plan/plan.ts'
import type { ScriptCache } from './server/lua/script-cache.ts'
import { World, type WorldResult } from './world/world.ts'

export interface Run extends Judgement {
  readonly plan: Plan
  readonly result: WorldResult
}

/**
 * Runs a plan and judges it. Only from a plain callback of the event loop, see `fromPlainCallback`.
 *
 * @param scripts compiled once, and shared by all runs
 */
export function runPlan(plan: Plan, scripts: ScriptCache): Run {
  assertDrains()
  const play = new World(plan, scripts).play()
  for (;;) {
    const { done, value } = play.next()
    if (done === true) return judged(plan, value)
    drainMicrotasks()
  }
}

/** The same, with a turn of the event loop after everything that happens: slow, and surely all has settled by then. */
export async function runPlanInTurns(plan: Plan, scripts: ScriptCache): Promise<Run> {
  const play = new World(plan, scripts).play()
  for (;;) {
    const { done, value } = play.next()
    if (done === true) return judged(plan, value)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function judged(plan: Plan, result: WorldResult): Run {
  return { plan, result, ...judge(plan, result) }
}
