import type { HistoryRecord, StoreEvent } from '../history-record.ts'
import { earliestExpiry, faultsOf, lastDeadline, ownerOf, touches, type Grant, type History } from './history.ts'
import { fitsInOrder, linearise, type Slot } from './linearise.ts'
import { witnessOf, type Rules, type Violation } from './verdict.ts'

/** Of grants placed before one that fits in nowhere, how many are first looked through for the reason. */
const NEAR_PLACED = 64

/** INV-M1, for every name: what breaks it, and the names that could not be decided. */
export function judgeMutualExclusion(
  history: History,
  rules: Rules,
): { violations: Violation[]; undecided: string[] } {
  const violations: Violation[] = []
  const undecided: string[] = []
  for (const [name, events] of history.storeEvents) {
    violations.push(...judgeStoreOrder(history, name, events))
  }
  for (const [name, grants] of history.grants) {
    if (history.storeEvents.has(name)) continue
    const judged = judgeGrants(history, { name, grants, rules })
    violations.push(...judged.violations)
    if (!judged.decided) undecided.push(name)
  }
  return { violations, undecided }
}

// ---- The store told its order -----------------------------------------------------------------------------------

function judgeStoreOrder(history: History, name: string, events: readonly StoreEvent[]): Violation[] {
  const violations: Violation[] = []
  const broken = (sentence: string, witness: readonly HistoryRecord[]): void => {
    violations.push({ invariant: 'INV-M1', name, sentence, witness: witnessOf(witness) })
  }
  const leaseFaults = faultsOf(history, { name, processes: null, breaks: ['leases'] })
  let holder: StoreEvent | null = null
  let lease: StoreEvent | null = null
  let highest: StoreEvent | null = null
  for (const event of events) {
    if (event.event === 'free') {
      if (holder?.owner === event.owner) holder = lease = null
      continue
    }
    const again: boolean = holder !== null && holder.owner === event.owner && holder.fence === event.fence
    if (event.event === 'renew' || again) {
      if (holder?.owner === event.owner) lease = event
      continue
    }
    const over: boolean = lease === null || (lease.expires !== null && lease.expires <= event.time)
    const excused = lease !== null && leaseFaults.some((fault) => touches(fault, lease?.time ?? 0, event.time))
    if (holder !== null && lease !== null && !over && !excused) {
      broken(`The store granted ${name} to ${event.owner} while ${holder.owner} held it.`, [holder, lease, event])
    }
    if (highest?.fence != null && event.fence !== null && event.fence <= highest.fence) {
      broken(`The store granted ${name} with the fence ${event.fence} after the fence ${highest.fence}.`, [highest, event])
    }
    if (event.fence !== null && (highest?.fence == null || event.fence > highest.fence)) highest = event
    holder = lease = event
  }
  return [...violations, ...unknownToStore(history, name, events)]
}

/** Grants that callers were told of and the store knows nothing of. Grants handed on within a lease are its own. */
function unknownToStore(history: History, name: string, events: readonly StoreEvent[]): Violation[] {
  const owners = new Set(events.filter(({ event }) => event === 'grant').map(({ owner }) => owner))
  const told = history.grants.get(name) ?? []
  return told
    .filter(({ returned }) => returned.owner !== null && !owners.has(returned.lease ?? returned.owner))
    .map((grant) => ({
      invariant: 'INV-M1',
      name,
      sentence: `${grant.process} was told that it holds ${name}, and the store never granted it to ${ownerOf(grant)}.`,
      witness: witnessOf([grant.call, grant.returned]),
    }))
}

// ---- The order has to be found ----------------------------------------------------------------------------------

interface Part {
  readonly grant: Grant
  readonly slot: Slot
}

interface Judging {
  readonly name: string
  readonly grants: readonly Grant[]
  readonly rules: Rules
}

function judgeGrants(history: History, judging: Judging): { violations: Violation[]; decided: boolean } {
  const { name, grants, rules } = judging
  const context = contextOf(history, name)
  // A nested hold is no grant of the store.
  const outer = grants.filter(({ returned }) => returned.within === null)
  let parts = outer.map((grant) => ({ grant, slot: slotOf(grant, context, {}) }))
  const violations: Violation[] = []
  while (violations.length < rules.limit) {
    const order = linearise(
      parts.map(({ slot }) => slot),
      rules.searchLimit,
    )
    if (order.kind === 'fits') return { violations, decided: true }
    if (order.kind === 'too-many') return { violations, decided: false }
    const near = order.placed.slice(-NEAR_PLACED).map((index) => parts[index] as Part)
    const stuck = parts[order.stuck] as Part
    const fewest = fewestThatClash(parts, { near, stuck, limit: rules.searchLimit })
    violations.push(describe(name, fewest, context))
    const last = fewest.includes(stuck) ? stuck : fewest.at(-1)
    parts = parts.filter((part) => part !== last)
  }
  return { violations, decided: true }
}

interface Context {
  /** When leases of this name may have ended for reasons of nobody who holds. */
  readonly lostBy: readonly { readonly from: number; readonly until: number }[]
  /** Whether fences can be compared at all. */
  readonly fences: boolean
}

function contextOf(history: History, name: string): Context {
  const lost = faultsOf(history, { name, processes: null, breaks: ['leases'] })
  return {
    lostBy: lost.map(({ from, until }) => ({ from, until: until ?? Infinity })),
    fences: faultsOf(history, { name, processes: null, breaks: ['clocks'] }).length === 0,
  }
}

/** What is left out of a slot to see whether the rest alone is enough for a clash. Each makes more orders fit, never fewer. */
interface Leniency {
  readonly withoutFence?: boolean
  readonly withoutConfirmation?: boolean
  readonly withoutRenewals?: boolean
}

function slotOf(grant: Grant, context: Context, leniency: Leniency): Slot {
  const { call, returned, loss, releases } = grant
  const confirmedBy = releases.find((release) => release.returned?.outcome === 'released')
  const confirmed =
    confirmedBy === undefined || leniency.withoutConfirmation === true
      ? null
      : { from: confirmedBy.call.time, until: confirmedBy.returned?.time ?? Infinity }
  // A release that is not known to have worked may work whenever it arrives, and who was told of a loss may send one too.
  const own = Math.min(
    releases[0]?.call.time ?? Infinity,
    loss?.time ?? Infinity,
    earliestExpiry(grant, leniency.withoutRenewals !== true),
  )
  return {
    from: call.time,
    until: returned.time,
    fence: context.fences && leniency.withoutFence !== true ? returned.fence : null,
    confirmed,
    ends: [{ from: own, until: Infinity }, ...context.lostBy],
  }
}

/** The fewest grants for which no order fits. Taking grants away never makes an order unfit, so what is found is a proof. */
function fewestThatClash(parts: readonly Part[], at: { near: readonly Part[]; stuck: Part; limit: number }): Part[] {
  const pair = clashingPair(parts, at.stuck) ?? clashingPairWithin([...at.near, at.stuck])
  if (pair !== null) return pair
  const clash = (some: readonly Part[]): boolean => linearise(some.map(({ slot }) => slot), at.limit).kind === 'none'
  const near = [...at.near, at.stuck]
  return reduce(clash(near) ? near : parts, clash)
}

/** The nearest other grant that clashes with this one by itself. */
function clashingPair(parts: readonly Part[], stuck: Part): Part[] | null {
  let nearest: Part | null = null
  const distance = (part: Part): number => Math.abs(part.slot.until - stuck.slot.until)
  for (const part of parts) {
    if (part === stuck || pairFits(part.slot, stuck.slot)) continue
    if (nearest === null || distance(part) < distance(nearest)) nearest = part
  }
  return nearest === null ? null : [nearest, stuck]
}

function clashingPairWithin(parts: readonly Part[]): Part[] | null {
  for (const part of parts) {
    const pair = clashingPair(parts, part)
    if (pair !== null) return pair
  }
  return null
}

function pairFits(one: Slot, other: Slot): boolean {
  return fitsInOrder([one, other]) || fitsInOrder([other, one])
}

/** Takes away what is not needed, in halves, quarters and so on (delta debugging, A. Zeller), until each one left is. */
function reduce(parts: readonly Part[], clash: (some: readonly Part[]) => boolean): Part[] {
  let left = [...parts]
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < left.length; ) {
      const fewer = [...left.slice(0, start), ...left.slice(start + size)]
      if (fewer.length > 1 && clash(fewer)) left = fewer
      else start += size
    }
  }
  return left
}

// ---- The words for it -------------------------------------------------------------------------------------------

function describe(name: string, clashing: readonly Part[], context: Context): Violation {
  const parts = [...clashing].sort((one, other) => one.slot.until - other.slot.until)
  const clash = (leniency: Leniency): boolean => {
    const slots = parts.map(({ grant }) => slotOf(grant, context, leniency))
    return linearise(slots, Infinity).kind === 'none'
  }
  // Leave out what is not needed for the clash: the rest is the shortest story.
  const withoutFence = clash({ withoutFence: true })
  const withoutConfirmation = clash({ withoutFence, withoutConfirmation: true })
  const withoutRenewals = clash({ withoutFence, withoutConfirmation, withoutRenewals: true })
  const last = Math.max(...parts.map(({ slot }) => slot.until))
  const records = parts.flatMap(({ grant }) => recordsOf(grant, { last, withoutConfirmation, withoutRenewals }))
  const sentence = sentenceFor(name, parts.map(({ grant }) => grant), { withoutFence, withoutConfirmation })
  return { invariant: 'INV-M1', name, sentence, witness: witnessOf(records) }
}

/** The records of one grant that a reader needs: what bounds it, and how it ended if that was before all was over. */
function recordsOf(
  grant: Grant,
  needs: { last: number; withoutConfirmation: boolean; withoutRenewals: boolean },
): (HistoryRecord | null)[] {
  const records: (HistoryRecord | null)[] = [grant.call, grant.returned]
  const deadline = lastDeadline(grant)
  if (!needs.withoutRenewals && deadline !== null) records.push(deadline.from)
  if (!needs.withoutConfirmation) {
    const confirmed = grant.releases.find((release) => release.returned?.outcome === 'released')
    records.push(confirmed?.call ?? null, confirmed?.returned ?? null)
  }
  const first = grant.releases[0]?.call ?? null
  for (const end of [grant.loss, first]) if (end !== null && end.time <= needs.last) records.push(end)
  return records
}

function sentenceFor(
  name: string,
  grants: readonly Grant[],
  needs: { withoutFence: boolean; withoutConfirmation: boolean },
): string {
  const [first, second] = grants
  if (first === undefined || second === undefined || grants.length > 2) {
    return `No order of these ${grants.length} grants of ${name} fits a fenced mutex.`
  }
  const one = ownerOf(first)
  const other = ownerOf(second)
  if (!needs.withoutFence) {
    const fences = `${second.returned.fence} after ${first.returned.fence}`
    return `${name} was granted with a fence that does not rise: ${fences}, to ${other} after ${one}.`
  }
  if (!needs.withoutConfirmation) {
    return `${name} was granted to ${other} while ${one} held it: one of them was found holding it, and released, too late.`
  }
  return `${name} was granted to ${other} before ${one} could have ceased to hold it.`
}
