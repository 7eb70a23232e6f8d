import { LockLostError, LockTimeoutError, StoreUnavailableError } from 'holdfast'
import type { Held } from 'holdfast'
import { StaleWriteError } from '../../database.ts'
import { EXPIRY } from '../counter.ts'
import type { Counter, Sale, Sell } from '../counter.ts'

/**
 * Holdfast, with the same expiry as the naive locks.
 *
 * 1. The lock is renewed while the work lasts, so a slow check does not outlast it.
 * 2. If it is lost all the same, `assertHeld()` says so before the write, without asking anybody.
 * 3. Should a write still come too late, its fence is lower than the one in the row, and the row refuses it. That is
 *    why already the read is done under the fence.
 */
export function holdfast(counter: Counter): Sell {
  const { shop } = counter
  const lock = counter.holdfast.lock('coupon', { ttl: EXPIRY, wait: '30s' })

  const sellOne = async (held: Held, buyer: number): Promise<Sale> => {
    const stock = shop.stockUnder(held.fence)
    if (stock < 1) return 'sold-out'
    await counter.riskCheck()
    held.assertHeld()
    shop.writeBackUnder(held.fence, stock - 1, buyer)
    return 'sold'
  }

  const sell: Sell = async (buyer) => {
    try {
      return await lock.run((held) => counter.atWork(buyer, () => sellOne(held, buyer)))
    } catch (error) {
      if (error instanceof LockTimeoutError || error instanceof StoreUnavailableError) return 'gave-up'
      if (error instanceof StaleWriteError) counter.wasRefused(buyer)
      else if (error instanceof LockLostError) {
        counter.wasTold(buyer)
        // Lost between the write and the release: the row took the write, so it counts.
        if (error.work !== null && 'value' in error.work) return error.work.value as Sale
      } else throw error
      return sell(buyer)
    }
  }
  return sell
}
