import type { HistoryRecord, Stop } from '../history-record.ts'
import type { Grant, History } from './history.ts'
import { claimsFree, lastDeadline, movesDeadline, ownerOf, putOff } from './leases.ts'
import { witnessOf, type Rules, type Violation } from './verdict.ts'

/** Clocks are read in two places, a moment apart. */
const READING_MS = 2

/** INV-T1 and INV-T2, for every grant. */
export function judgeLosses(history: History, rules: Rules): Violation[] {
  const violations: Violation[] = []
  for (const grants of history.grants.values()) {
    for (const grant of grants) {
      const judged = [judgeTelling(history, grant, rules), judgeClaim(grant), judgeAssertions(grant)]
      violations.push(...judged.filter((violation) => violation !== null))
    }
  }
  return violations
}

/** INV-T1: told by the deadline and a little more, unless the holder gave the lock back before, was stopped, or died. */
function judgeTelling(history: History, grant: Grant, rules: Rules): Violation | null {
  const deadline = lastDeadline(grant)
  if (deadline === null || grant.returned.within !== null) return null
  const stops: readonly Stop[] = history.stops.get(grant.process) ?? []
  const { bound, by } = putOff(deadline.time + rules.lossSlack, stops, rules.lossSlack)
  const asked = grant.releases[0]?.call
  const life = history.lives.get(grant.process)
  const settled = [grant.loss?.time, asked?.time, life?.death].some((time) => (time ?? Infinity) <= bound)
  // Who gave no sign of life afterwards may have died.
  if (settled || life === undefined || life.last.time <= bound) return null
  const late = grant.loss ?? null
  const proof: HistoryRecord = late ?? asked ?? life.last
  const said =
    late === null ? 'was never told of it' : `was told ${(late.time - deadline.time).toFixed(1)} ms later`
  return {
    invariant: 'INV-T1',
    name: grant.name,
    sentence: `The time of ${ownerOf(grant)} at ${grant.name} was over, and it ${said}.`,
    witness: witnessOf([deadline.from, ...by, proof]),
  }
}

/** INV-T1: no holder believes in more time than its lease can have, nor in more than a fixed lease had at first. */
function judgeClaim(grant: Grant): Violation | null {
  for (const record of [grant.returned, ...grant.renewals]) {
    if (record.deadline === null) continue
    const fixed = record.kind === 'renewal' && !movesDeadline(grant, record)
    const allowed = fixed ? (grant.returned.deadline ?? Infinity) : allowedBy(grant, record)
    if (record.deadline <= allowed + READING_MS) continue
    return {
      invariant: 'INV-T1',
      name: grant.name,
      sentence: `${ownerOf(grant)} counts on ${(record.deadline - allowed).toFixed(1)} ms more of ${grant.name} than its lease gives.`,
      witness: witnessOf(fixed ? [grant.returned, record] : [grant.call, record]),
    }
  }
  return null
}

function allowedBy(grant: Grant, record: { time: number; sent: number | null; ttl?: number | null }): number {
  const ttl = record.ttl ?? grant.call.ttl
  return ttl === null ? Infinity : (record.sent ?? record.time) + ttl
}

/** INV-T2: once the time is over, or the loss was told, or the lock given back, asserting it throws. */
function judgeAssertions(grant: Grant): Violation | null {
  const deadline = lastDeadline(grant)
  const returned = grant.releases
    .map((release) => release.returned)
    .find((release) => claimsFree(release?.outcome))
  const ends = [
    deadline === null ? null : { time: deadline.time + READING_MS, record: deadline.from },
    grant.loss === null ? null : { time: grant.loss.time, record: grant.loss },
    returned === undefined || returned === null ? null : { time: returned.time, record: returned },
  ].filter((end) => end !== null)
  for (const assertion of grant.assertions) {
    if (!assertion.passed) continue
    const over = ends.find(({ time }) => assertion.time > time)
    if (over === undefined) continue
    return {
      invariant: 'INV-T2',
      name: grant.name,
      sentence: `${ownerOf(grant)} was assured that it holds ${grant.name} when its time was over.`,
      witness: witnessOf([over.record, assertion]),
    }
  }
  return null
}
