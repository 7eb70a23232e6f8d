import { LIMIT, MINUTE } from '../gate.ts'
import type { AskGate, Gate } from '../gate.ts'

/**
 * GET the count, compare, SET it one higher.
 *
 * The expiry is set together with the count, so nobody is locked out. What is wrong: between GET and SET others read the same
 * count, and all of them write back the same number. The more requests come at once, the fewer are counted.
 */
export function getThenSet(gate: Gate): AskGate {
  const key = gate.key('get-then-set')
  return async () => {
    const count = await gate.commands.get(key)
    if (count >= LIMIT) return false
    await gate.betweenTwoCommands()
    await gate.commands.setPx(key, count + 1, MINUTE)
    return true
  }
}
