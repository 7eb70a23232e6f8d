import type { Dice } from '../dice.ts'
import type { Draw, Measures } from './faults.ts'

/** How long a switch keeps a server away, and how far the one that takes over lags. */
function switched(dice: Dice, { ttl, budget }: Measures): { for: number; lag: number } {
  return {
    for: Math.max(1, Math.round(dice.pick([budget / 3, budget]) * dice.between(0.5, 1.5))),
    lag: dice.pick([0, ttl / 3, ttl, 2 * ttl]) * dice.between(0.2, 1),
  }
}

/** Servers that take over from others, drawn where a scenario names them. */
export const SWITCHES = {
  /** A replica that may have been started only just before. */
  'take-over': (dice, measures) => ({
    kind: 'failover',
    ...switched(dice, measures),
    by: 0,
    split: null,
    upFor: Math.round(measures.ttl * dice.pick([0.3, 0.6, 0.9, 1e6])),
  }),
  /** There and back: the old primary was never started again, and has lost what the other one lacked. */
  'fall-back': (dice, measures) => ({
    kind: 'failover',
    ...switched(dice, measures),
    by: 0,
    split: null,
    fallsBack: true,
  }),
} as const satisfies Record<string, Draw>
