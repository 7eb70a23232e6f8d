import type { StoreEvent } from '../history-record.ts'
import { push, type Grant, type History } from './history.ts'
import { faultsOf, ownerOf, touches } from './leases.ts'
import { witnessOf, type Violation } from './verdict.ts'

/**
 * INV-F1. Of two grants one is known to be the earlier when it had returned before the other was asked for; where the store
 * told its order, that counts. Grants handed on within a lease are compared within it, and every grant of the store with all
 * before it: a late one of a lost lease may come with a lower fence, and is what guards are for.
 */
export function judgeFences(history: History): Violation[] {
  const violations: Violation[] = []
  for (const [name, events] of history.storeEvents) violations.push(...judgeStore(history, name, events))
  for (const [name, grants] of history.grants) {
    const fenced = grants.filter(({ returned }) => returned.fence !== null && returned.within === null)
    const leases = groupByLease(fenced)
    const local = new Set<Grant>()
    for (const lease of leases) {
      for (const grant of lease.slice(1)) local.add(grant)
      if (lease.length > 1)
        violations.push(...judgeOrder(history, name, { grants: lease, judged: () => true }))
    }
    violations.push(...judgeOrder(history, name, { grants: fenced, judged: (grant) => !local.has(grant) }))
    violations.push(...judgeTwins(history, name, fenced))
  }
  return violations
}

function judgeStore(history: History, name: string, events: readonly StoreEvent[]): Violation[] {
  const violations: Violation[] = []
  let highest: (StoreEvent & { fence: bigint }) | null = null
  for (const event of events) {
    if (event.event !== 'grant' || event.fence === null) continue
    const again: boolean = highest?.owner === event.owner && highest.fence === event.fence
    if (
      highest !== null &&
      !again &&
      event.fence <= highest.fence &&
      !excused(history, name, highest.time, event.time)
    ) {
      violations.push({
        invariant: 'INV-F1',
        name,
        sentence: falls(name, highest.fence, event.fence),
        witness: witnessOf([highest, event]),
      })
    }
    if (highest === null || event.fence > highest.fence) highest = { ...event, fence: event.fence }
  }
  return violations
}

function groupByLease(grants: readonly Grant[]): Grant[][] {
  const leases = new Map<string, Grant[]>()
  for (const grant of grants) push(leases, grant.returned.lease ?? grant.id, grant)
  return [...leases.values()]
}

/** Each judged grant must have a greater fence than all that had returned before it was asked for. */
function judgeOrder(
  history: History,
  name: string,
  what: { grants: readonly Grant[]; judged: (grant: Grant) => boolean },
): Violation[] {
  const violations: Violation[] = []
  const byReturn = what.grants
  const byCall = [...what.grants].sort((one, other) => one.call.time - other.call.time)
  let highest: Grant | null = null
  let at = 0
  for (const grant of byCall) {
    for (
      let next = byReturn[at];
      next !== undefined && next.returned.time < grant.call.time;
      next = byReturn[at]
    ) {
      if (highest === null || fenceOf(next) > fenceOf(highest)) highest = next
      at += 1
    }
    if (highest === null || !what.judged(grant) || fenceOf(grant) > fenceOf(highest)) continue
    // Equal ones are told once, as twins.
    if (fenceOf(grant) === fenceOf(highest) || excused(history, name, highest.call.time, grant.returned.time))
      continue
    violations.push({
      invariant: 'INV-F1',
      name,
      sentence: falls(name, fenceOf(highest), fenceOf(grant)),
      witness: witnessOf([highest.returned, grant.call, grant.returned]),
    })
  }
  return violations
}

/** No two grants have one fence, in whatever order they were made. */
function judgeTwins(history: History, name: string, grants: readonly Grant[]): Violation[] {
  const violations: Violation[] = []
  const seen = new Map<bigint, Grant>()
  for (const grant of grants) {
    const twin = seen.get(fenceOf(grant))
    seen.set(fenceOf(grant), grant)
    if (twin === undefined || excused(history, name, twin.call.time, grant.returned.time)) continue
    violations.push({
      invariant: 'INV-F1',
      name,
      sentence: `The fence ${fenceOf(grant)} of ${name} was given out twice, to ${ownerOf(twin)} and ${ownerOf(grant)}.`,
      witness: witnessOf([twin.returned, grant.returned]),
    })
  }
  return violations
}

function excused(history: History, name: string, from: number, until: number): boolean {
  return faultsOf(history, { name, processes: null, breaks: ['clocks'] }).some((fault) =>
    touches(fault, from, until),
  )
}

function fenceOf(grant: Grant): bigint {
  return grant.returned.fence as bigint
}

function falls(name: string, earlier: bigint, later: bigint): string {
  return `The fence of ${name} fell from ${earlier} to ${later}.`
}
