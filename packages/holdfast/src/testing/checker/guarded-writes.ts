import type { GuardedWrite } from '../history-record.ts'
import { push, type History } from './history.ts'
import { witnessOf, type Violation } from './verdict.ts'

/**
 * INV-F2. The order is the resource's own where it is known. Else a write counts as earlier than another when it was
 * answered before the other was sent. No fault excuses anything here.
 */
export function judgeGuardedWrites(history: History): Violation[] {
  const resources = new Map<string, GuardedWrite[]>()
  for (const write of history.writes) {
    if (write.accepted) push(resources, write.resource, write)
  }
  return [...resources.values()].flatMap((accepted) =>
    accepted.every(({ order }) => order !== null) ? judgeInOrder(accepted) : judgeByTime(accepted),
  )
}

function judgeInOrder(accepted: readonly GuardedWrite[]): Violation[] {
  const violations: Violation[] = []
  let highest: GuardedWrite | null = null
  for (const write of accepted.toSorted((one, other) => (one.order ?? 0) - (other.order ?? 0))) {
    if (highest !== null && write.fence < highest.fence) violations.push(violationOf(highest, write))
    else highest = write
  }
  return violations
}

function judgeByTime(accepted: readonly GuardedWrite[]): Violation[] {
  const violations: Violation[] = []
  // One that may have been sent at any time is nobody's successor.
  const sent = (write: GuardedWrite): number => write.began ?? -Infinity
  let highest: GuardedWrite | null = null
  let at = 0
  for (const write of accepted.toSorted((one, other) => sent(one) - sent(other))) {
    for (let next = accepted[at]; next !== undefined && next.time < sent(write); next = accepted[at]) {
      if (highest === null || next.fence > highest.fence) highest = next
      at += 1
    }
    if (highest !== null && write.fence < highest.fence) violations.push(violationOf(highest, write))
  }
  return violations
}

function violationOf(earlier: GuardedWrite, later: GuardedWrite): Violation {
  return {
    invariant: 'INV-F2',
    name: later.resource,
    sentence: `${later.resource} accepted a write with the fence ${later.fence} after one with the fence ${earlier.fence}.`,
    witness: witnessOf([earlier, later]),
  }
}
