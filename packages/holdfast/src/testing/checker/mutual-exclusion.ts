import type { HistoryRecord, ReleaseCall, ReleaseReturn } from '../history-record.ts'
import type { Grant, History } from './history.ts'
import { earliestExpiry, faultsOf, lastDeadline, ownerOf, validity } from './leases.ts'
import { fitsInOrder, linearise, type Slot } from './linearise.ts'
import { judgeStoreOrder } from './store-order.ts'
import { witnessOf, type Rules, type Violation } from './verdict.ts'

/** Of grants placed before one that fits in nowhere, how many are first looked through for the reason. */
const NEAR_PLACED = 64
/** Steps for each question on the way to the shortest witness. A question without an answer leaves the witness longer. */
const WITNESS_STEPS = 20_000

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

/** A lease: one grant of the store, and those that its process handed on from it. */
interface Part {
  readonly grants: readonly Grant[]
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
  let parts = leasesOf(grants).map((lease) => ({ grants: lease, slot: slotOf(lease, context, {}) }))
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
    const fewest = fewestThatClash(parts, near, stuck)
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
  const lost = faultsOf(history, { name, processes: null, breaks: ['leases', 'timing'] })
  return {
    // Where clocks run apart it is not known when leases end, and that lasts as long as the leases do.
    lostBy: lost.map(({ from, until, breaks }) => ({
      from,
      until: breaks.includes('timing') ? Infinity : (until ?? Infinity),
    })),
    fences: faultsOf(history, { name, processes: null, breaks: ['clocks'] }).length === 0,
  }
}

/** What is left out of a slot to see whether the rest alone is enough for a clash. Each makes more orders fit, never fewer. */
interface Leniency {
  readonly withoutFence?: boolean
  readonly withoutConfirmation?: boolean
  readonly withoutRenewals?: boolean
}

/** Joins the grants that stand on one lease. A nested hold is none, and two with one fence are two grants of the store. */
function leasesOf(grants: readonly Grant[]): Grant[][] {
  const leases: Grant[][] = []
  const byLease = new Map<string, Grant[]>()
  for (const grant of grants) {
    const { within, lease, fence } = grant.returned
    if (within !== null) continue
    const key = `${grant.process} ${lease ?? ''}`
    const others = lease === null || fence === null ? undefined : byLease.get(key)
    if (others !== undefined && others.every(({ returned }) => returned.fence !== fence)) {
      others.push(grant)
      continue
    }
    const alone = [grant]
    leases.push(alone)
    if (others === undefined) byLease.set(key, alone)
  }
  return leases
}

function slotOf(lease: readonly Grant[], context: Context, leniency: Leniency): Slot {
  const first = lease[0] as Grant
  const confirmedBy = leniency.withoutConfirmation === true ? null : confirmedRelease(lease)
  const lost = lease.map(({ loss }) => loss?.time ?? Infinity)
  const expiries = lease.map((grant) => earliestExpiry(grant, leniency.withoutRenewals !== true))
  // A release that is not known to have worked may work whenever it arrives, and who was told of a loss may send one too.
  const own = Math.min(lease.at(-1)?.releases[0]?.call.time ?? Infinity, ...lost)
  const expiry = Math.max(...expiries)
  return {
    from: first.call.time,
    until: first.returned.time,
    fence: context.fences && leniency.withoutFence !== true ? first.returned.fence : null,
    confirmed: confirmedBy && { from: confirmedBy.call.time, until: confirmedBy.returned.time },
    expiry:
      expiry === Infinity
        ? null
        : { at: expiry, lasts: first.call.ttl === null ? 0 : validity(first.call.ttl) },
    ends: [{ from: own, until: Infinity }, ...context.lostBy],
  }
}

function confirmedRelease(lease: readonly Grant[]): { call: ReleaseCall; returned: ReleaseReturn } | null {
  for (const { call, returned } of lease.at(-1)?.releases ?? []) {
    if (returned?.outcome === 'released') return { call, returned }
  }
  return null
}

/** The fewest grants for which no order fits. Taking grants away never makes an order unfit, so what is found is a proof. */
function fewestThatClash(parts: readonly Part[], placed: readonly Part[], stuck: Part): Part[] {
  const near = [...placed, stuck]
  const pair = clashingPair(parts, stuck) ?? clashingPairWithin(near)
  if (pair !== null) return pair
  const clash = (some: readonly Part[]): boolean => {
    const slots = some.map(({ slot }) => slot)
    return linearise(slots, WITNESS_STEPS).kind === 'none'
  }
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
    for (let start = 0; start < left.length;) {
      const fewer = [...left.slice(0, start), ...left.slice(start + size)]
      if (fewer.length > 1 && clash(fewer)) left = fewer
      else start += size
    }
  }
  return left
}

function describe(name: string, clashing: readonly Part[], context: Context): Violation {
  const parts = [...clashing].sort((one, other) => one.slot.until - other.slot.until)
  const leniencies = mostLenient(parts, context)
  const last = Math.max(...parts.map(({ slot }) => slot.until))
  const records = parts.flatMap(({ grants }, at) => recordsOf(grants, last, leniencies[at] ?? {}))
  const firsts = parts.map(({ grants }) => grants[0] as Grant)
  return {
    invariant: 'INV-M1',
    name,
    sentence: sentenceFor(name, firsts, leniencies),
    witness: witnessOf(records),
  }
}

/** Leaves out, part by part, what the clash does not need: what is left is the shortest story. */
function mostLenient(parts: readonly Part[], context: Context): Leniency[] {
  let leniencies: Leniency[] = parts.map(() => ({}))
  const clash = (lenient: readonly Leniency[]): boolean =>
    linearise(
      parts.map(({ grants }, at) => slotOf(grants, context, lenient[at] ?? {})),
      WITNESS_STEPS,
    ).kind === 'none'
  const withoutFences = parts.map(() => ({ withoutFence: true }))
  if (clash(withoutFences)) leniencies = withoutFences
  for (const at of parts.keys()) {
    for (const more of [{ withoutConfirmation: true }, { withoutRenewals: true }]) {
      const lenient = leniencies.with(at, { ...leniencies[at], ...more })
      if (clash(lenient)) leniencies = lenient
    }
  }
  return leniencies
}

/** The records of one lease that a reader needs: what bounds it, and how it ended if that was before all was over. */
function recordsOf(lease: readonly Grant[], last: number, leniency: Leniency): (HistoryRecord | null)[] {
  const first = lease[0] as Grant
  const records: (HistoryRecord | null)[] = [first.call, first.returned]
  if (leniency.withoutRenewals !== true) {
    const deadlines = lease.map((grant) => lastDeadline(grant)).filter((deadline) => deadline !== null)
    records.push(deadlines.sort((one, other) => other.time - one.time)[0]?.from ?? null)
  }
  if (leniency.withoutConfirmation !== true) {
    const confirmed = confirmedRelease(lease)
    records.push(confirmed?.call ?? null, confirmed?.returned ?? null)
  }
  for (const { loss, releases } of lease) {
    for (const end of [loss, releases[0]?.call ?? null])
      if (end !== null && end.time <= last) records.push(end)
  }
  return records
}

function sentenceFor(name: string, grants: readonly Grant[], leniencies: readonly Leniency[]): string {
  const [first, second] = grants
  if (first === undefined || second === undefined || grants.length > 2) {
    return `No order of these ${grants.length} grants of ${name} fits a fenced mutex.`
  }
  const one = ownerOf(first)
  const other = ownerOf(second)
  if (leniencies.some(({ withoutFence }) => withoutFence !== true)) {
    const fences = `${second.returned.fence} after ${first.returned.fence}`
    return `${name} was granted with a fence that does not rise: ${fences}, to ${other} after ${one}.`
  }
  if (leniencies.some(({ withoutConfirmation }) => withoutConfirmation !== true)) {
    return `${name} was granted to ${other} while ${one} held it: one of them was found holding it, and released, too late.`
  }
  return `${name} was granted to ${other} before ${one} could have ceased to hold it.`
}
