import { slidingWindow } from 'holdfast'
import { LIMIT, MINUTE, USER } from '../gate.ts'
import type { AskGate, Gate } from '../gate.ts'

/**
 * Holdfast's exact window: one atomic step on the store, by the store's clock. Who asks may die at any time and may believe any
 * time.
 *
 * The budget is larger than the default, since this demo may share its machine with anything.
 */
export function holdfast(gate: Gate): AskGate {
  const limiter = gate.holdfast.limiter('demo', slidingWindow({ limit: LIMIT, per: MINUTE }), {
    budget: '2s',
  })
  return async () => {
    const decision = await limiter.take(USER)
    return decision.allowed
  }
}
