import type { CallerPlan, ClientPlan, LockStep, Plan, Step } from './plan.ts'

/** Runs that one shrinking may take. */
const MOST_RUNS = 3_000

/**
 * Takes parts out of a plan, one after the other, as long as it still fails: what is left shows the fault and little else.
 *
 * @param fails whether a plan still fails in the same way
 */
export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let smallest = plan
  let runs = 0
  for (let smaller = true; smaller && runs < MOST_RUNS;) {
    smaller = false
    for (const candidate of candidates(smallest)) {
      runs += 1
      if (runs >= MOST_RUNS) break
      if (!(await fails(candidate))) continue
      smallest = candidate
      smaller = true
      break
    }
  }
  return smallest
}

/** Plans with one thing less, the greatest first. */
function* candidates(plan: Plan): Generator<Plan> {
  for (const faults of without(plan.faults)) yield { ...plan, faults }
  for (const [index, client] of plan.clients.entries()) {
    if (client.callers.length > 0) yield withClient(plan, index, { ...client, callers: [] })
  }
  for (const [index, client] of plan.clients.entries())
    for (const callers of without(client.callers)) yield withClient(plan, index, { ...client, callers })
  yield* simplerCallers(plan)
  yield* simplerTraits(plan)
}

function* simplerCallers(plan: Plan): Generator<Plan> {
  for (const [index, client] of plan.clients.entries()) {
    for (const [at, caller] of client.callers.entries()) {
      for (const simpler of simplerCaller(caller))
        yield withClient(plan, index, { ...client, callers: client.callers.with(at, simpler) })
    }
  }
}

function* simplerCaller(caller: CallerPlan): Generator<CallerPlan> {
  if (caller.startsAt > 0) yield { ...caller, startsAt: 0 }
  for (const steps of without(caller.steps)) yield { ...caller, steps }
  for (const [at, step] of caller.steps.entries())
    for (const simpler of simplerStep(step)) yield { ...caller, steps: caller.steps.with(at, simpler) }
}

function* simplerStep(step: Step): Generator<Step> {
  if (step.kind !== 'lock') return
  for (const work of without(step.work)) yield { ...step, work }
  const plain: Partial<LockStep>[] = [
    { abortAfter: null },
    { maxHold: null },
    { retry: 'queue' },
    { ending: 'release' },
    { how: 'acquire' },
  ]
  for (const part of plain) {
    const [field, value] = Object.entries(part)[0] as [keyof LockStep, unknown]
    if (step[field] !== value) yield { ...step, ...part }
  }
}

function* simplerTraits(plan: Plan): Generator<Plan> {
  if (plan.server.rate !== 1 || plan.server.offMillis !== 0)
    yield { ...plan, server: { rate: 1, offMillis: 0 } }
  for (const [index, client] of plan.clients.entries()) {
    const { rate, wallOff, lateness } = client.traits
    if (rate !== 1 || wallOff !== 0 || lateness !== 0)
      yield withClient(plan, index, { ...client, traits: { rate: 1, wallOff: 0, lateness: 0 } })
  }
}

function withClient(plan: Plan, index: number, client: ClientPlan): Plan {
  return { ...plan, clients: plan.clients.with(index, client) }
}

function* without<T>(items: readonly T[]): Generator<T[]> {
  for (const at of items.keys()) yield items.toSpliced(at, 1)
}
