/** One of the processes that get the provider's callbacks. */

import { serveWorker } from '../../servers/worker-side.ts'
import { sleep } from '../../wait.ts'
import { openLocks } from '../locks/service.ts'
import type { StorePlace } from '../place.ts'
import { Log } from '../log.ts'
import { OrderBook } from './orders.ts'
import { PaymentProvider } from './provider.ts'
import { Till } from './till.ts'
import { paymentVariants } from './variants/index.ts'
import type { PaymentVariant } from './variants/index.ts'

export interface Callback {
  readonly variant: PaymentVariant
  readonly ordersFile: string
  readonly providerFile: string
  readonly logFile: string
  /** When it comes, in milliseconds from now. */
  readonly after: number
  readonly blocks: boolean
}

const [lane, place] = process.argv.slice(2) as [string, string]
const locks = openLocks(JSON.parse(place) as StorePlace)

serveWorker({
  async callback({ variant, ordersFile, providerFile, logFile, after, blocks }: Callback): Promise<void> {
    const orders = new OrderBook(ordersFile)
    const provider = new PaymentProvider(providerFile)
    const log = new Log(logFile, lane)
    const handle = paymentVariants[variant](new Till({ orders, provider, locks, log, blocks }))
    await sleep(after)
    log.note(1, { what: 'waits' })
    await handle()
    orders.close()
    provider.close()
  },
})
