import { EXPIRY } from '../till.ts'
import type { HandleCallback, Till } from '../till.ts'

/**
 * SET NX PX, the work, DEL.
 *
 * It even looks at the order first. What is wrong:
 * 1. Between that look and the charge the lock may expire, and nobody tells the holder. The next callback looks too,
 *    finds the order unpaid as well, and both charge.
 * 2. DEL deletes whatever lies there: the late one deletes the lock of the next, and lets a third in.
 */
export function bareDel(till: Till): HandleCallback {
  const key = till.key('pay-bare-del')
  return async () => {
    await till.askUntilGranted(() => till.commands.setNxPx(key, 'locked', EXPIRY))
    try {
      await till.atWork(() => pay(till))
    } finally {
      await till.commands.del(key)
    }
  }
}

async function pay(till: Till): Promise<void> {
  if (till.orders.status() === 'paid') return till.stops('the order is paid')
  await till.prepare()
  const attempt = till.orders.openPayment()
  await till.charge(attempt)
  till.orders.markPaid(attempt)
}
