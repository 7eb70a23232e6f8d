import type { Dice } from '../dice.ts'
import type { LimiterPlan, LimitStep } from './plan.ts'

/** One or two limiters, of kinds that differ. */
export function drawLimiters(dice: Dice, per: number): LimiterPlan[] {
  const first = drawLimiter(dice, per)
  return dice.chance(0.7) ? [first] : [first, drawLimiter(dice, per)]
}

function drawLimiter(dice: Dice, per: number): LimiterPlan {
  const kind = dice.pick(['sliding', 'sliding', 'fixed', 'bucket', 'slots', 'slots'] as const)
  const leases = kind !== 'slots' && dice.chance(0.25)
  const limit = dice.whole(leases ? 3 : 1, 6)
  return {
    kind,
    limit,
    per,
    rememberFor: dice.chance(0.6) ? 1_000 : 0,
    lease: leases ? dice.whole(2, 3) : null,
  }
}

export function drawLimitStep(dice: Dice, limiters: readonly LimiterPlan[]): LimitStep {
  const index = dice.whole(0, limiters.length - 1)
  const { kind, limit, per } = limiters[index] as LimiterPlan
  const isSlots = kind === 'slots'
  const how = dice.pick(['take', 'take', 'take', 'wait', 'peek', isSlots ? 'take' : 'reserve'] as const)
  const cost = isSlots || dice.chance(0.6) ? 1 : dice.whole(1, limit + 1)
  const wait = how === 'wait' ? dice.pick([0, Math.round(per / 2), 2 * per]) : 0
  return {
    kind: 'limit',
    how,
    limiter: index,
    cost,
    wait,
    abortAfter: how !== 'peek' && dice.chance(0.08) ? dice.whole(0, Math.max(5, wait)) : null,
    hold: Math.round(per * dice.pick([0, 0.02, 0.1, 0.3, 0.7, 1.2])),
    after: dice.pick(['stay', 'stay', 'back', 'settle'] as const),
    actual: dice.whole(0, cost),
  }
}
