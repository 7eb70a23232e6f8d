/** Whether Holdfast kept its promise in a run. Pure. */

import type { DemoResult } from './demo.ts'
import { LIMIT } from './limit/gate.ts'
import { failoverHeld } from './failover/scene.ts'
import { limitHeld } from './limit/summary.ts'
import type { Style } from './style.ts'

export function keptItsPromise({ coupons, payment, limit, failover }: DemoResult): boolean {
  const lock = coupons?.variants.find(({ name }) => name === 'holdfast')
  const full = payment?.variants.find(({ name }) => name === 'holdfast-full')
  return (
    (coupons === undefined || lock?.oversold === 0) &&
    (payment === undefined || full?.charges === 1) &&
    (limit === undefined || limitHeld(limit)) &&
    (failover === undefined || failoverHeld(failover))
  )
}

export function verdict(result: DemoResult, style: Style): string {
  const promises = [
    ...(result.coupons === undefined ? [] : ['no coupon oversold']),
    ...(result.payment === undefined ? [] : ['the order charged once']),
    ...(result.limit === undefined ? [] : [`never more than ${LIMIT} in a minute`]),
    ...(result.failover === undefined ? [] : ['no lock twice where it said so, no stale write taken']),
  ]
  return keptItsPromise(result)
    ? style.good(`  Holdfast kept its promise in this run: ${promises.join(', ')}.`)
    : style.bad('  Holdfast did not keep its promise in this run. This must not happen: please report it.')
}
