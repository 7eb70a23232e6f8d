import type { Dice } from '../dice.ts'
import { drawLimitStep } from './limit-workload.ts'
import { drawOnceStep } from './once-workload.ts'
import type { CallerPlan, ClientPlan, LimiterPlan, LockStep, OncePlan, Step, Work } from './plan.ts'

/** What all callers of a world share. */
export interface Terms {
  /** Locks; 0 where something else is asked for. */
  readonly names: number
  readonly limiters: readonly LimiterPlan[]
  readonly runs: readonly OncePlan[]
  /** Leases around this. */
  readonly ttl: number
  readonly callers: { readonly least: number; readonly most: number }
  readonly steps: { readonly least: number; readonly most: number }
  /** Rates of clocks that are not true differ from 1 by up to this. */
  readonly drift: number
  /** The share of holds that begin with an extension. */
  readonly extendsFirst: number
  /** The share of works that end soon, and say that nothing happened. */
  readonly saysNothing: number
  /** No lease is longer. */
  readonly longest: number
}

/** So much of the drift allowance is used: two clocks may run apart by twice that. */
export const ALLOWED_DRIFT = 0.0045

export function drawClient(dice: Dice, terms: Terms): ClientPlan {
  const { drift } = terms
  const callers = dice.whole(terms.callers.least, terms.callers.most)
  return {
    family: dice.chance(0.5) ? 'ioredis' : 'node-redis',
    traits: {
      rate: 1 + (dice.chance(0.5) ? 0 : dice.between(-drift, drift)),
      wallOff: dice.chance(0.5) ? 0 : dice.between(-600_000, 600_000),
      lateness: dice.chance(0.6) ? 0 : dice.between(0, dice.chance(0.8) ? 2 : 25),
    },
    callers: Array.from({ length: callers }, () => drawCaller(dice, terms)),
  }
}

function drawCaller(dice: Dice, terms: Terms): CallerPlan {
  const steps: Step[] = []
  const count = dice.whole(terms.steps.least, terms.steps.most)
  for (let i = 0; i < count; i += 1) {
    if (dice.chance(0.35)) steps.push({ kind: 'pause', for: dice.whole(1, terms.ttl) })
    steps.push(drawStep(dice, terms))
  }
  return { startsAt: dice.chance(0.4) ? 0 : dice.whole(0, terms.ttl), steps }
}

function drawStep(dice: Dice, terms: Terms): Step {
  if (terms.limiters.length > 0) return drawLimitStep(dice, terms.limiters)
  if (terms.runs.length > 0) return drawOnceStep(dice, terms.runs, terms.saysNothing)
  const name = dice.whole(0, terms.names - 1)
  if (dice.chance(0.05)) return { kind: 'force', name }
  if (dice.chance(0.04)) return { kind: 'inspect', name }
  return drawLockStep(dice, terms, name)
}

function drawLockStep(dice: Dice, terms: Terms, name: number): LockStep {
  const { ttl, longest } = terms
  const renew = dice.chance(0.75)
  const how = dice.pick(['acquire', 'acquire', 'acquire', 'try', 'run'] as const)
  const leaves = !renew && how !== 'run' && dice.chance(0.1)
  const wait = how === 'try' ? 0 : dice.pick([0, ttl, 2 * ttl, 4 * ttl])
  return {
    kind: 'lock',
    how,
    name,
    ttl: dice.chance(0.85) ? ttl : Math.min(longest, Math.round(ttl * dice.between(0.5, 2))),
    renew,
    maxHold: renew && dice.chance(0.1) ? Math.round(ttl * dice.between(0.5, 2)) : null,
    wait,
    retry: dice.pick(['queue', 'queue', 'queue', 'interval', 'backoff'] as const),
    abortAfter: wait > 0 && dice.chance(0.08) ? dice.whole(0, ttl) : null,
    work: drawWork(dice, terms),
    ending: leaves ? 'leave' : dice.chance(0.04) ? 'release-twice' : 'release',
  }
}

function drawWork(dice: Dice, { ttl, extendsFirst, longest }: Terms): Work[] {
  const work: Work[] = []
  if (extendsFirst > 0 && dice.chance(extendsFirst))
    work.push({ kind: 'extend', ttl: Math.min(longest, Math.round(ttl * dice.between(1, 2))) })
  const count = dice.whole(0, 3)
  for (let i = 0; i < count; i += 1) {
    const roll = dice.between(0, 1)
    if (roll < 0.5)
      work.push({ kind: 'pause', for: Math.round(ttl * dice.pick([0.01, 0.1, 0.1, 0.4, 0.8, 1.5])) })
    else if (roll < 0.75)
      work.push({ kind: 'write', delay: dice.chance(0.8) ? 1 : Math.round(ttl * dice.between(0, 2)) })
    else if (roll < 0.88) work.push({ kind: 'assert' })
    else if (roll < 0.95)
      work.push({ kind: 'extend', ttl: Math.min(longest, Math.round(ttl * dice.between(0.5, 2))) })
    else work.push({ kind: 'block', for: Math.round(ttl * dice.pick([0.05, 0.4, 1.2])) })
  }
  if (dice.chance(0.5)) work.push({ kind: 'assert' })
  return work
}
