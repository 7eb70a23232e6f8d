/** One order, three callbacks in three processes, the first of which is blocked while it holds the lock. */

import { join } from 'node:path'
import type { Worker } from '../../servers/worker.ts'
import { readLog } from '../log.ts'
import type { Entry } from '../log.ts'
import type { Stage } from '../stage.ts'
import { OrderBook } from './orders.ts'
import { PaymentProvider } from './provider.ts'
import { EXPIRY } from './till.ts'
import { paymentVariants } from './variants/index.ts'
import type { PaymentVariant } from './variants/index.ts'
import type { Callback } from './worker.ts'

export const PAYMENT_LANES = ['P1', 'P2', 'P3'] as const

/** When the callbacks come, in milliseconds: the provider tries again when it had no answer for a while. */
const ARRIVALS = [0, 1.5 * EXPIRY, 1.7 * EXPIRY] as const

/** What one variant came to. */
export interface PaymentResult {
  readonly name: PaymentVariant
  /** How often the provider took the money. */
  readonly charges: number
  readonly staleWritesRefused: number
  readonly log: readonly Entry[]
}

/** Runs every variant. `progress` is told the name of each before it runs. */
export async function payOnce(stage: Stage, progress: (variant: string) => void): Promise<PaymentResult[]> {
  const workers = await stage.startWorkers(new URL('./worker.ts', import.meta.url), PAYMENT_LANES)
  const results: PaymentResult[] = []
  for (const name of Object.keys(paymentVariants) as PaymentVariant[]) {
    progress(name)
    results.push(await payIn(name, stage, workers))
  }
  await stage.endWorkers()
  return results
}

async function payIn(
  variant: PaymentVariant,
  stage: Stage,
  workers: readonly Worker[],
): Promise<PaymentResult> {
  const file = (what: string) => join(stage.folder, `payment-${variant}-${what}`)
  const ordersFile = file('orders.db')
  const providerFile = file('provider.db')
  const logFile = file('log')
  OrderBook.create(ordersFile, { guarded: variant === 'holdfast-full' })
  const provider = PaymentProvider.create(providerFile)
  await Promise.all(
    workers.map((worker, i) => {
      const callback: Callback = {
        variant,
        ordersFile,
        providerFile,
        logFile,
        after: ARRIVALS[i] ?? 0,
        blocks: i === 0,
      }
      return worker.call('callback', { ...callback })
    }),
  )
  const charges = provider.charges()
  provider.close()
  const log = readLog(logFile)
  const staleWritesRefused = log.filter(({ what }) => what === 'refused').length
  return { name: variant, charges, staleWritesRefused, log }
}
