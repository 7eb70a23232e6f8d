import type {
  AcquireResult,
  ForceResult,
  LockRecord,
  RaiseResult,
  ReleaseResult,
  RenewResult,
} from '../../store/contract.ts'
import { holderOf } from '../../store/owner.ts'

/** An item's own part of a reply. */
export type Words = readonly string[]

export const leaveResult = (): null => null
const remainingOf = (pttl: string | undefined): number | null => (Number(pttl) < 0 ? null : Number(pttl))

export function acquireResult([kind = '', first = '', second]: Words): AcquireResult {
  switch (kind) {
    case 'late':
      return { kind }
    case 'turn':
      return { kind: 'busy', holder: null }
    case 'busy':
      return { kind, holder: holderOf(first, remainingOf(second)) }
    case 'mine':
      return { kind: 'granted', fence: BigInt(first), again: true }
    case 'granted':
      return { kind, fence: BigInt(first), again: false, reserved: Number(second) }
    default:
      return { kind: 'granted', fence: BigInt(kind), again: false }
  }
}

export function releaseResult([kind, first = '', second]: Words): ReleaseResult {
  if (kind === 'released' || kind === 'woken') return { kind: 'released', wokeOther: kind === 'woken' }
  if (kind === 'missing') return { kind }
  return { kind: 'other', holder: holderOf(first, remainingOf(second)) }
}

export function renewResult([kind, first = '', second]: Words): RenewResult {
  if (kind === 'renewed' || kind === 'missing' || kind === 'late') return { kind }
  return { kind: 'other', holder: holderOf(first, remainingOf(second)) }
}

export function forceResult([kind, first = '', second]: Words): ForceResult {
  if (kind === 'forced') return { kind, fence: BigInt(first) }
  if (kind === 'missing') return { kind }
  return { kind: 'other', holder: holderOf(first, remainingOf(second)) }
}

export function raiseResult([kind, first = '', second]: Words): RaiseResult {
  if (kind === 'raised' || kind === 'missing') return { kind }
  if (kind === 'higher') return { kind, fence: BigInt(first) }
  return { kind: 'other', holder: holderOf(first, remainingOf(second)) }
}

export function inspectResult([kind, value = '', pttl, waiters]: Words): LockRecord | null {
  return kind === 'held' ? { ...holderOf(value, remainingOf(pttl)), waiters: Number(waiters) } : null
}
