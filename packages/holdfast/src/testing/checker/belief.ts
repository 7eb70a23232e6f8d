import type { Grant, History } from './history.ts'
import { beliefEnd, faultsOf, lastDeadline, letGo, ownerOf, putOff, touches } from './leases.ts'
import { witnessOf, type Overlap, type Rules, type Violation } from './verdict.ts'

interface Belief {
  readonly grant: Grant
  readonly from: number
  readonly until: number
}

/** INV-M2: who believed to hold at once, why as far as it is known, and what of it is a violation. */
export function judgeBeliefs(
  history: History,
  rules: Rules,
): { overlaps: Overlap[]; violations: Violation[] } {
  const overlaps: Overlap[] = []
  const violations: Violation[] = []
  for (const [name, grants] of history.grants) {
    for (const [first, second] of overlapping(history, grants)) {
      const overlap = overlapOf(history, { name, first, second, rules })
      overlaps.push(overlap)
      if (isViolation(overlap, rules)) violations.push(violationOf(history, overlap, [first, second]))
    }
  }
  return { overlaps, violations }
}

function isViolation(overlap: Overlap, rules: Rules): boolean {
  if (rules.overlaps === 'count') return false
  return rules.overlaps === 'assert' || overlap.causes.length === 0
}

function* overlapping(history: History, grants: readonly Grant[]): Generator<[Belief, Belief]> {
  let current: Belief[] = []
  for (const grant of grants) {
    if (grant.returned.within !== null) continue
    const belief = { grant, from: grant.returned.time, until: beliefEnd(history, grant) }
    current = current.filter(({ until }) => until > belief.from)
    for (const earlier of current) if (belief.until > belief.from) yield [earlier, belief]
    current.push(belief)
  }
}

function overlapOf(
  history: History,
  pair: { name: string; first: Belief; second: Belief; rules: Rules },
): Overlap {
  const { name, first, second } = pair
  return {
    name,
    holds: [first.grant.id, second.grant.id],
    owners: [ownerOf(first.grant), ownerOf(second.grant)],
    from: second.from,
    until: Math.min(first.until, second.until),
    causes: causesOf(history, pair),
  }
}

function causesOf(
  history: History,
  pair: { name: string; first: Belief; second: Belief; rules: Rules },
): string[] {
  const { name, first, second, rules } = pair
  const from = first.grant.call.time
  const until = Math.min(first.until, second.until)
  const causes = new Set<string>()
  for (const stop of history.stops.get(first.grant.process) ?? [])
    if (touches(stop, from, until)) causes.add(stop.cause)
  // Its answer was in time, and it stood still before it could hear of it.
  const over = second.grant.returned.deadline ?? Infinity
  if (second.from >= over && toldInTime(history, second, rules)) {
    for (const stop of history.stops.get(second.grant.process) ?? [])
      if (touches(stop, second.grant.call.time, second.from)) causes.add(stop.cause)
  }
  const processes = [first.grant.process, second.grant.process]
  // The one who was told first may have asked later: what befell the other's grant before that counts as well.
  const asked = Math.min(from, second.grant.call.time)
  for (const fault of faultsOf(history, { name, processes, breaks: ['leases', 'clocks', 'timing'] })) {
    if (touches(fault, asked, until)) causes.add(fault.cause)
  }
  if (toldInTime(history, first, rules) && second.from >= (lastDeadline(first.grant)?.time ?? Infinity)) {
    causes.add('told-late')
  }
  return [...causes]
}

/** The holder's deadline was over, and it was told so as soon as INV-T1 demands. */
function toldInTime(history: History, belief: Belief, rules: Rules): boolean {
  const deadline = lastDeadline(belief.grant)
  if (deadline === null) return false
  const stops = history.stops.get(belief.grant.process) ?? []
  return belief.until <= putOff(deadline.time + rules.lossSlack, stops, rules.lossSlack).bound
}

function violationOf(history: History, overlap: Overlap, pair: readonly [Belief, Belief]): Violation {
  const [one, other] = overlap.owners
  const ms = (overlap.until - overlap.from).toFixed(1)
  const ends = pair.map(({ grant }) => letGo(grant) ?? history.lives.get(grant.process)?.last ?? null)
  return {
    invariant: 'INV-M2',
    name: overlap.name,
    sentence: `${one} and ${other} both believed to hold ${overlap.name} for ${ms} ms.`,
    witness: witnessOf([...pair.map(({ grant }) => grant.returned), ...ends]),
  }
}
