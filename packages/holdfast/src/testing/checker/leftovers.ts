import type { HistoryRecord, KeySeen } from '../history-record.ts'
import { push, type Acquire, type Grant, type History } from './history.ts'
import { claimsFree, faultsOf, letGo, ownerOf, putOff } from './leases.ts'
import { witnessOf, type Rules, type Violation } from './verdict.ts'

/** INV-H2: keys that should be gone, and releases that claim what was not theirs. */
export function judgeLeftovers(history: History, rules: Rules): Violation[] {
  return [...judgeKeys(history, rules), ...judgeReleases(history)]
}

/** Whether an acquire accounts for a key; if not any more, the records that tell why. */
type Account = { readonly until: number; readonly because: readonly (HistoryRecord | null)[] }

function judgeKeys(history: History, rules: Rules): Violation[] {
  const acquires = new Map<string, Acquire[]>()
  for (const acquire of history.acquires) push(acquires, acquire.name, acquire)
  return history.keys
    .map((key) => judgeKey(history, { key, acquires: acquires.get(key.name ?? '') ?? [], rules }))
    .filter((violation) => violation !== null)
}

function judgeKey(
  history: History,
  about: { key: KeySeen; acquires: readonly Acquire[]; rules: Rules },
): Violation | null {
  const { key, acquires, rules } = about
  const { name, owner } = key
  if (name === null || owner === null) return null
  const began = key.began ?? key.time
  // An owner that was told to a caller is that caller's. Of any other it is not known whose it is: each may account for it.
  const told = acquires.filter(({ returned }) => returned?.owner === owner)
  const possible = told.length > 0 ? told : acquires.filter(mayHaveHadAnother)
  const accounts = possible
    .filter(({ call }) => call.time <= key.time)
    .map((acquire) =>
      told.length === 0 && acquire.returned?.outcome === 'granted'
        ? givenUp(history, acquire, rules)
        : accountOf(history, acquire, rules),
    )
  if (accounts.some(({ until }) => until >= began)) return null
  const last = accounts.toSorted((one, other) => other.until - one.until)[0]
  return {
    invariant: 'INV-H2',
    name,
    sentence:
      last === undefined
        ? `${key.key} was held for ${owner}, who never asked for it.`
        : `${key.key} was still held for ${owner} ${(began - last.until).toFixed(1)} ms after it had to be gone.`,
    witness: witnessOf([...(last?.because ?? []), key]),
  }
}

/** Whether an acquire may have asked under an owner of which nobody was told: one that waits goes on under another after a failure. */
function mayHaveHadAnother({ call, returned }: Acquire): boolean {
  return returned?.outcome !== 'granted' || (call.wait ?? 0) > 0
}

/** What was given up while it waited is taken back within the bound, counted from its return at the latest. */
function givenUp(history: History, acquire: Acquire, rules: Rules): Account {
  const { call, returned } = acquire
  const bound = rules.compensationBound ?? (call.budget ?? 0) + rules.settleSlack
  const outages = faultsOf(history, { name: acquire.name, processes: [acquire.process], breaks: ['service'] })
  return {
    until: putOff((returned?.time ?? Infinity) + bound, outages, bound).bound,
    because: [call, returned],
  }
}

function accountOf(history: History, acquire: Acquire, rules: Rules): Account {
  const { call, returned } = acquire
  const bound = rules.compensationBound ?? (call.budget ?? 0) + rules.settleSlack
  const outages = faultsOf(history, { name: acquire.name, processes: [acquire.process], breaks: ['service'] })
  // While the store cannot be reached nothing can be taken back: the bound begins anew when it can.
  const until = (time: number): number => putOff(time + bound, outages, bound).bound
  const lease = Math.max(call.ttl ?? Infinity, ...acquire.renewals.map(({ ttl }) => ttl ?? 0))
  if (returned === null) {
    // It may be granted as long as it can be asked for, and a dead process takes nothing back.
    const death = history.lives.get(acquire.process)?.death ?? null
    return { until: death === null ? Infinity : death + lease + bound, because: [call] }
  }
  if (returned.outcome !== 'granted') return { until: until(returned.time), because: [call, returned] }
  const released = acquire.releases.find((release) => claimsFree(release.returned?.outcome))
  if (released !== undefined) {
    return {
      until: until(released.returned?.time ?? Infinity),
      because: [returned, released.call, released.returned],
    }
  }
  return { until: untilExpired(history, acquire, lease + bound), because: [returned, letGo(acquire)] }
}

/** Whoever let go of it, was told of its loss or died renews no more: the lease ends by itself. */
function untilExpired(history: History, acquire: Acquire, after: number): number {
  const death = history.lives.get(acquire.process)?.death ?? Infinity
  const end = Math.min(letGo(acquire)?.time ?? Infinity, death)
  return end + after
}

/** A release that says it released was ours to make: not made before, and nobody else was granted the lock meanwhile. */
function judgeReleases(history: History): Violation[] {
  const violations: Violation[] = []
  for (const grants of history.grants.values()) {
    const successors = successorsOf(grants)
    for (const grant of grants) {
      const violation = judgeTwice(grant) ?? judgeForeign(grant, successors)
      if (violation !== null) violations.push(violation)
    }
  }
  return violations
}

function judgeTwice(grant: Grant): Violation | null {
  const [first, second] = grant.releases.filter(({ returned }) => returned?.outcome === 'released')
  if (first === undefined || second === undefined || grant.returned.within !== null) return null
  return {
    invariant: 'INV-H2',
    name: grant.name,
    sentence: `${ownerOf(grant)} released ${grant.name} twice, and was told both times that it had held it.`,
    witness: witnessOf([first.call, first.returned, second.call, second.returned]),
  }
}

function judgeForeign(
  grant: Grant,
  successors: (grant: Grant, before: number) => Grant | null,
): Violation | null {
  const claimed = grant.releases.find(({ returned }) => returned?.outcome === 'released')
  if (claimed === undefined || grant.returned.within !== null) return null
  const other = successors(grant, claimed.call.time)
  if (other === null) return null
  return {
    invariant: 'INV-H2',
    name: grant.name,
    sentence: `${ownerOf(grant)} was told that it released ${grant.name}, which ${ownerOf(other)} had been granted before.`,
    witness: witnessOf([grant.returned, other.call, other.returned, claimed.call, claimed.returned]),
  }
}

/** Finds a grant of another owner that was asked for after the given one had returned, and itself returned before a moment. */
function successorsOf(grants: readonly Grant[]): (grant: Grant, before: number) => Grant | null {
  const byCall = grants
    .filter(({ returned }) => returned.within === null)
    .sort((one, other) => one.call.time - other.call.time)
  // Of all from here on, the one that returned first: enough to know whether any returned before a moment.
  const soonest: Grant[] = []
  for (let at = byCall.length - 1; at >= 0; at -= 1) {
    const here = byCall[at] as Grant
    const later = soonest[at + 1]
    soonest[at] = later !== undefined && later.returned.time < here.returned.time ? later : here
  }
  return (grant, before) => {
    const found = soonest[firstCalledAfter(byCall, grant.returned.time)]
    if (found === undefined || found.returned.time >= before) return null
    const same = found.process === grant.process && found.returned.lease !== null
    return same && found.returned.lease === grant.returned.lease ? null : found
  }
}

function firstCalledAfter(byCall: readonly Grant[], time: number): number {
  let low = 0
  let high = byCall.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((byCall[middle] as Grant).call.time <= time) low = middle + 1
    else high = middle
  }
  return low
}
