import { LIMIT, MINUTE } from '../gate.ts'
import type { AskGate, Gate } from '../gate.ts'

/**
 * INCR, and EXPIRE when the key is new.
 *
 * Counting is atomic, so no two requests get the same number. What is wrong:
 * 1. INCR and EXPIRE are two commands. A process that dies between them leaves a count that never ends. From the hundredth
 *    request on the user is locked out for good.
 * 2. The count begins anew at an edge: a hundred requests right before it and a hundred right after it pass within seconds.
 * 3. Denied requests count as well.
 */
export function incrExpire(gate: Gate): AskGate {
  const key = gate.key('incr-expire')
  return async () => {
    const count = await gate.commands.incr(key)
    await gate.betweenTwoCommands()
    if (count === 1) await gate.commands.pexpire(key, MINUTE)
    return count <= LIMIT
  }
}
