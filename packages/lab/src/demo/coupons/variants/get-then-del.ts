import { randomUUID } from 'node:crypto'
import { EXPIRY } from '../counter.ts'
import type { Counter, Sell } from '../counter.ts'

/**
 * SET NX PX with a value of one's own, the work, GET, and DEL if the value is still one's own.
 *
 * Better: lock and expiry are set in one step, and a late holder mostly leaves the next one's lock alone.
 * What is wrong:
 * 1. The work can still outlast the expiry, and nobody tells the holder. It writes back a stock that it read before
 *    others sold: their sales vanish from the count.
 * 2. GET and DEL are two commands. When the lock expires between them and passes to another, DEL deletes that one's.
 * 3. No lock can call back what is already on its way to the database. Only the database can refuse it.
 */
export function getThenDel(counter: Counter): Sell {
  const key = counter.key('get-then-del')
  return async (buyer) => {
    const redis = counter.commandsFor(buyer)
    const mine = randomUUID()
    if (!(await counter.askUntilGranted(() => redis.setNxPx(key, mine, EXPIRY)))) return 'gave-up'
    try {
      return await counter.readCompareWriteBack(buyer)
    } finally {
      if ((await redis.get(key)) === mine) await redis.del(key)
    }
  }
}
