import type { LossReason } from '../errors.ts'
import { events } from '../events/channels.ts'
import type { GrantedLease } from './granted-lease.ts'

/** What is told about a lease that was granted. Nothing is made where nobody listens. */

export function tellLost(lease: GrantedLease, reason: LossReason): void {
  if (!events.lost.hasSubscribers) return
  events.lost.publish({ ...about(lease), reason, held: lease.held, trace: lease.trace })
}

export function tellReleased(lease: GrantedLease, confirmed: boolean): void {
  if (!events.released.hasSubscribers) return
  events.released.publish({ ...about(lease), held: lease.held, confirmed, trace: lease.trace })
}

export function tellRenewFailed(lease: GrantedLease, reason: string): void {
  if (!events.renewFailed.hasSubscribers) return
  events.renewFailed.publish({ ...about(lease), reason, remaining: lease.remaining() })
}

export function tellReleaseFailed(lease: GrantedLease, reason: string): void {
  if (!events.releaseFailed.hasSubscribers) return
  events.releaseFailed.publish({ ...about(lease), reason })
}

function about({ address, owner, fence }: GrantedLease) {
  return { lock: address.name, key: address.key, owner, fence: String(fence) }
}
