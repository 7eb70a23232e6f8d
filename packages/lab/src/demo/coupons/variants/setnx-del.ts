import { EXPIRY } from '../counter.ts'
import type { Counter, Sell } from '../counter.ts'

/**
 * SETNX, an expiry, the work, DEL.
 *
 * What is wrong:
 * 1. SETNX and PEXPIRE are two commands. A process that dies between them leaves a lock that never ends.
 * 2. The work can outlast the expiry. Then the next buyer gets the lock, and two are at work.
 * 3. DEL deletes whatever lies there. The late one deletes the lock of the next buyer while that one works, so a third
 *    comes in, whose lock the second deletes, and so on: after one late holder the lock may be gone for good.
 * 4. The value is always the same. Nobody can see whose lock it is, not even its holder.
 */
export function setnxDel(counter: Counter): Sell {
  const key = counter.key('setnx-del')
  return async (buyer) => {
    const redis = counter.commandsFor(buyer)
    if (!(await counter.askUntilGranted(() => redis.setnx(key, 'locked')))) return 'gave-up'
    await redis.pexpire(key, EXPIRY)
    try {
      return await counter.readCompareWriteBack(buyer)
    } finally {
      await redis.del(key)
    }
  }
}
