import type { HistoryRecord } from '../history-record.ts'
import type { History } from './history.ts'
import { putOff } from './leases.ts'
import { witnessOf, type Rules, type Violation } from './verdict.ts'

interface Promised {
  readonly what: string
  readonly name: string | null
  readonly called: HistoryRecord
  readonly returned: HistoryRecord | null
  /** Wait and budget together. */
  readonly within: number | null
}

/** INV-H1: every promise settles within its wait, its budget and a little more, or as soon as a stopped process goes on. */
export function judgeSettling(history: History, rules: Rules): Violation[] {
  return promises(history)
    .map((promised) => judge(history, promised, rules))
    .filter((violation) => violation !== null)
}

function promises(history: History): Promised[] {
  const acquires = history.acquires.map(({ name, call, returned }): Promised => ({
    what: `The acquire of ${name}`,
    name,
    called: call,
    returned,
    within: call.budget === null ? null : call.wait + call.budget,
  }))
  const releases = history.acquires.flatMap((acquire) =>
    acquire.releases.map(({ call, returned }): Promised => ({
      what: `The release of ${acquire.name}`,
      name: acquire.name,
      called: call,
      returned,
      within: call.budget,
    })),
  )
  const others = history.calls.map(({ call, returned }): Promised => ({
    what: call.name === null ? `A call of ${call.operation}` : `The ${call.operation} of ${call.name}`,
    name: call.name,
    called: call,
    returned,
    within: call.budget === null ? null : call.wait + call.budget,
  }))
  return [...acquires, ...releases, ...others]
}

function judge(history: History, promised: Promised, rules: Rules): Violation | null {
  const { what, name, called, returned, within } = promised
  if (within === null) return null
  const { process } = called
  const stops = history.stops.get(process) ?? []
  const { bound, by } = putOff(called.time + within + rules.settleSlack, stops, rules.settleSlack)
  if (returned !== null && returned.time <= bound) return null
  const life = history.lives.get(process)
  if (
    returned === null &&
    (life === undefined || life.last.time <= bound || (life.death ?? Infinity) <= bound)
  )
    return null
  const after =
    returned === null ? 'did not settle' : `settled only after ${(returned.time - called.time).toFixed(1)} ms`
  return {
    invariant: 'INV-H1',
    name,
    sentence: `${what} ${after}; ${within} ms were promised.`,
    witness: witnessOf([called, ...by, returned ?? life?.last ?? null]),
  }
}
