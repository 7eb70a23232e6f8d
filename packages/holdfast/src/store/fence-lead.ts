import { events } from '../events/channels.ts'
import type { LockAddress } from '../name.ts'
import type { AcquireResult, Answer } from './contract.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

/**
 * Tells when the fence of a new grant leads the store's clock by more than a second: the clock was set back, or the last
 * fence was set by hand. Fences rise all the same; once the last one is lost, they would not until the clock catches up.
 */
export function tellFenceLead(address: LockAddress, { result, serverTime }: Answer<AcquireResult>): void {
  if (!events.fenceLeadsClock.hasSubscribers || result.kind !== 'granted' || result.again) return
  const leadMs = Math.round(Number(result.fence) / 1_000 - serverTime)
  if (leadMs <= SECOND_MS) return
  const level = leadMs > HOUR_MS ? 'hour' : 'second'
  events.fenceLeadsClock.publish({
    lock: address.name,
    key: address.key,
    fence: String(result.fence),
    leadMs,
    level,
  })
}
