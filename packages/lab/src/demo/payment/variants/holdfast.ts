import { LockLostError } from 'holdfast'
import type { Held } from 'holdfast'
import { EXPIRY } from '../till.ts'
import type { HandleCallback, Till } from '../till.ts'

/**
 * The lock of Holdfast, and nothing else.
 *
 * `assertHeld()` right before the charge: a holder that was away for longer than its lease is told, at once and without
 * a round trip. That narrows the accident to what lies between this line and the provider, and no lock can close that
 * gap: a pause there still charges late. See `holdfast-full`.
 */
export function holdfastOnly(till: Till): HandleCallback {
  const lock = till.holdfast.lock('pay-lock-only', { ttl: EXPIRY, wait: '10s' })
  return async () => {
    try {
      await lock.run((held) => till.atWork(() => pay(till, held)))
    } catch (error) {
      if (!(error instanceof LockLostError)) throw error
      till.wasTold()
    }
  }
}

async function pay(till: Till, held: Held): Promise<void> {
  if (till.orders.status() === 'paid') return till.stops('the order is paid')
  await till.prepare(held.remaining())
  held.assertHeld()
  const attempt = till.orders.openPayment()
  await till.charge(attempt)
  till.orders.markPaid(attempt)
}
