/** 200 buyers, 100 coupons, 4 processes: every variant in turn, in the same processes, on a fresh shop. */

import { join } from 'node:path'
import type { Worker } from '../../servers/worker.ts'
import { readLog } from '../log.ts'
import type { Stage } from '../stage.ts'
import { tellStory } from '../story.ts'
import type { Story } from '../story.ts'
import type { Sale } from './counter.ts'
import { CouponShop } from './shop.ts'
import { couponVariants } from './variants/index.ts'
import type { CouponVariant } from './variants/index.ts'

export const COUPONS = 100
export const BUYERS = 200
export const COUPON_LANES = ['P1', 'P2', 'P3', 'P4'] as const

/** What one variant came to. */
export interface CouponResult {
  readonly name: CouponVariant
  /** Orders that were written. */
  readonly sold: number
  /** Orders beyond the coupons there were. */
  readonly oversold: number
  /** From the first buyer to the last, in milliseconds. */
  readonly ms: number
  /** Coupons that the stock still shows. */
  readonly stockLeft: number
  /** Buyers who waited in vain. */
  readonly gaveUp: number
  readonly story: Story
}

/** Runs every variant. `progress` is told the name of each before it runs. */
export async function sellCoupons(
  stage: Stage,
  progress: (variant: string) => void,
): Promise<CouponResult[]> {
  const workers = await stage.startWorkers(new URL('./worker.ts', import.meta.url), COUPON_LANES)
  const results: CouponResult[] = []
  for (const name of Object.keys(couponVariants) as CouponVariant[]) {
    progress(name)
    results.push(await sellAll(name, stage, workers))
  }
  await stage.endWorkers()
  return results
}

async function sellAll(name: CouponVariant, stage: Stage, workers: readonly Worker[]): Promise<CouponResult> {
  const shopFile = join(stage.folder, `coupons-${name}.db`)
  const logFile = join(stage.folder, `coupons-${name}.log`)
  const shop = CouponShop.create(shopFile, COUPONS)
  const began = performance.now()
  const sales = await Promise.all(
    workers.map((worker, i) => worker.call<Sale[]>('sell', name, shopFile, logFile, buyersOf(i))),
  )
  const ms = Math.round(performance.now() - began)
  const sold = shop.orders()
  const stockLeft = shop.stock()
  shop.close()
  const gaveUp = sales.flat().filter((sale) => sale === 'gave-up').length
  const story = tellStory(readLog(logFile))
  return { name, sold, oversold: Math.max(0, sold - COUPONS), ms, stockLeft, gaveUp, story }
}

/** The buyers of the process with this number. */
function buyersOf(lane: number): number[] {
  const each = BUYERS / COUPON_LANES.length
  return Array.from({ length: each }, (_, i) => lane * each + i + 1)
}
