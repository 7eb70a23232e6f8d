import type { StoreName } from '../../options.ts'
import type { AskGate, Gate } from '../gate.ts'
import { callersClocks } from './callers-clocks.ts'
import { getThenSet } from './get-then-set.ts'
import { holdfast } from './holdfast.ts'
import { incrExpire } from './incr-expire.ts'

/** Every way to limit the user, from the worst to the best. */
export const limitVariants = {
  'incr-expire': incrExpire,
  'get-then-set': getThenSet,
  'callers-clocks': callersClocks,
  holdfast,
} as const satisfies Record<string, (gate: Gate) => AskGate>

export type LimitVariant = keyof typeof limitVariants

/** Those that make sense on a store: whoever uses a file of SQLite is on one machine, with one clock. */
export function limitVariantsOn(store: StoreName): LimitVariant[] {
  const all = Object.keys(limitVariants) as LimitVariant[]
  return store === 'redis' ? all : all.filter((name) => name !== 'callers-clocks')
}
