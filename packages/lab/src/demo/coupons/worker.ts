/** One of the processes that sell coupons. */

import { serveWorker } from '../../servers/worker-side.ts'
import { openLocks } from '../locks/service.ts'
import type { StorePlace } from '../place.ts'
import { Log } from '../log.ts'
import { arrival, Counter } from './counter.ts'
import type { Sale } from './counter.ts'
import { CouponShop } from './shop.ts'
import { couponVariants } from './variants/index.ts'
import type { CouponVariant } from './variants/index.ts'

const [lane, place] = process.argv.slice(2) as [string, string]
const locks = openLocks(JSON.parse(place) as StorePlace)

serveWorker({
  /** Serves these buyers at once, in one variant's way, and says what came of each. */
  async sell(variant: CouponVariant, shopFile: string, logFile: string, buyers: number[]): Promise<Sale[]> {
    const shop = new CouponShop(shopFile)
    const sell = couponVariants[variant](new Counter(shop, locks, new Log(logFile, lane)))
    const sales = await Promise.all(buyers.map((buyer) => arrival().then(() => sell(buyer))))
    shop.close()
    return sales
  },
})
