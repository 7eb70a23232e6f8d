import type { Dice } from '../dice.ts'
import type { OncePlan, OnceStep } from './plan.ts'

/** One or two keys, with and without another try for a run whose runner died. */
export function drawRuns(dice: Dice, lease: number): OncePlan[] {
  const first = dice.pick(['fail', 'retry'] as const)
  const other = first === 'fail' ? 'retry' : 'fail'
  const one: OncePlan = { onAbandoned: first, lease }
  return dice.chance(0.5) ? [one] : [one, { onAbandoned: other, lease }]
}

/** @param saysNothing the share of works that end soon, and say that nothing happened */
export function drawOnceStep(dice: Dice, runs: readonly OncePlan[], saysNothing: number): OnceStep {
  const run = dice.whole(0, runs.length - 1)
  const { lease } = runs[run] as OncePlan
  const wait = dice.pick([0, lease, 3 * lease])
  const parts = dice.whole(1, 2)
  const part = (): number =>
    dice.chance(0.08)
      ? -Math.round(lease * dice.pick([0.4, 1.3]))
      : Math.round(lease * dice.pick([0.02, 0.1, 0.5, 1.2]))
  const step: OnceStep = {
    kind: 'once',
    run,
    payload: dice.chance(0.9) ? 1 : 2,
    wait,
    work: Array.from({ length: parts }, part),
    ends: dice.pick(['value', 'value', 'value', 'value', 'nothing', 'final'] as const),
    abortAfter: dice.chance(0.06) ? dice.whole(0, lease) : null,
    settles: dice.chance(0.15),
  }
  // Not drawn where it cannot be: what a seed means elsewhere stays.
  if (saysNothing === 0 || !dice.chance(saysNothing)) return step
  return { ...step, work: [Math.round(lease * dice.pick([0.002, 0.01, 0.02]))], ends: 'nothing' }
}
