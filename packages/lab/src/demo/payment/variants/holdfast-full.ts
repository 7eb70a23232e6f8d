import { LockLostError } from 'holdfast'
import type { Held } from 'holdfast'
import { StaleWriteError } from '../../database.ts'
import { EXPIRY } from '../till.ts'
import type { HandleCallback, Till } from '../till.ts'

/**
 * The lock keeps callbacks from working in vain; the database decides.
 *
 * 1. The order moves by conditional updates: pending → paying → paid. Who does not find it pending does not charge.
 * 2. At most one live or paid payment can stand per order, by a unique index.
 * 3. The order carries the fence of whoever held the lock last, checked in the same update. Already the first look raises
 *    it, so an earlier holder that wakes up late is refused from then on.
 *
 * The provider is asked only after the payment row is written, under its attempt id. Who finds the order `paying` does not
 * charge again: an earlier holder may have, and the provider can be asked about that attempt.
 */
export function holdfastFull(till: Till): HandleCallback {
  const lock = till.holdfast.lock('pay', { ttl: EXPIRY, wait: '10s' })
  return async () => {
    try {
      await lock.run((held) => till.atWork(() => pay(till, held)))
    } catch (error) {
      if (error instanceof StaleWriteError) till.wasRefused()
      else if (error instanceof LockLostError) till.wasTold()
      else throw error
    }
  }
}

/** Nothing here relies on the holder noticing anything, so `assertHeld()` is left out: the late write is tried. */
async function pay(till: Till, held: Held): Promise<void> {
  const { fence } = held
  const status = till.orders.statusUnder(fence)
  if (status !== 'pending') return till.stops(`the order is ${status}`)
  await till.prepare(held.remaining())
  const attempt = till.orders.beginPayment(fence)
  if (attempt === null) return till.stops('the order is not pending any more')
  await till.charge(attempt)
  till.orders.finishPayment(fence, attempt)
}
