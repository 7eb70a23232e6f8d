import type { HistoryRecord } from 'holdfast/testing'
import type { Plan } from '../plan/plan.ts'
import { BRINGS_BACK } from '../world/fault-injector.ts'
import type { EpochNote, LookNote } from '../world/epochs.ts'
import type { Broken } from './judge.ts'

/** Looking who answers, asking whether a lock stands. */
const ROUND_TRIPS = 8

type Of<K extends HistoryRecord['kind']> = Extract<HistoryRecord, { kind: K }>

/**
 * INV-T1 where servers tell who they are: whoever holds a lock that another server lacks is told as soon as its process has found out that
 * another one answers, also without renewal; and nobody is told of another server where there is none. Judged where nothing else was
 * broken.
 */
export function judgeEpochs(
  plan: Plan,
  records: readonly HistoryRecord[],
  { told, looks }: { readonly told: readonly EpochNote[]; readonly looks: readonly LookNote[] },
): Broken[] {
  if (plan.tells !== true) return []
  const same = told.filter((each) => each.server === each.previous && each.copies === each.previousCopies)
  const unfounded = records.some(({ kind }) => kind === 'fault') ? same : told
  const broken = unfounded.map(({ server }) => ({
    invariant: 'INV-T1',
    name: null,
    sentence: `It was told that another server answers, ${server}, and it was the same.`,
    witness: [],
  }))
  const others = plan.faults.some(({ kind }) => kind !== 'failover' && kind !== 'restart')
  return others ? broken : [...broken, ...judgeTelling(plan, records, looks)]
}

/** Holds that a switch took away, and when their holders were told. */
function judgeTelling(plan: Plan, records: readonly HistoryRecord[], looks: readonly LookNote[]): Broken[] {
  const lateness = Math.max(...plan.clients.map(({ traits }) => traits.lateness))
  const bound = 2 * plan.budget + ROUND_TRIPS * plan.delay.to + 3 * lateness
  const broken: Broken[] = []
  // What is asked of a server that goes down is asked of the next one.
  const heard = looks.filter(({ time }) => !records.some((record) => goesDown(record, time, time + bound)))
  for (const grant of records) {
    if (grant.kind !== 'acquire-return' || grant.outcome !== 'granted') continue
    const freed = records.find((record) => lacks(record, grant))
    if (freed === undefined || wasOver(records, grant, freed.time)) continue
    const look = heard.find(({ process, time }) => process === grant.process && time > freed.time)
    const until = (look?.time ?? Infinity) + bound
    // It may have ended, stood still or died before.
    const last = records.findLast(({ process }) => process === grant.process)?.time ?? 0
    const stopped = records.some(({ kind, process }) => kind === 'stop' && process === grant.process)
    // Yet another server may have it again.
    const again = records.some(
      (record) =>
        record.kind === 'fault' &&
        BRINGS_BACK.has(record.cause) &&
        record.from > freed.time &&
        record.from <= until,
    )
    if (stopped || again || until >= last || wasOver(records, grant, until)) continue
    broken.push({
      invariant: 'INV-T1',
      name: freed.name,
      sentence: `${grant.owner} of ${grant.process} lost ${freed.name} with its server, and was not told within ${bound.toFixed(0)} ms of a look at the next one.`,
      witness: [grant, freed],
    })
  }
  return broken
}

const goesDown = (record: HistoryRecord, from: number, until: number): boolean =>
  record.kind === 'fault' && record.breaks.includes('service') && record.from >= from && record.from <= until

function lacks(record: HistoryRecord, grant: Of<'acquire-return'>): record is Of<'store'> {
  if (record.kind !== 'store' || record.event !== 'free' || record.owner !== grant.owner) return false
  return record.time >= grant.time && LACKS.has(record.cause ?? '')
}

/** Whether a hold was lost or being given back by then. */
const wasOver = (records: readonly HistoryRecord[], { id }: Of<'acquire-return'>, by: number): boolean =>
  records.some(
    (record) =>
      (record.kind === 'loss' || record.kind === 'release-call') && record.hold === id && record.time <= by,
  )

/** Why the server that answers now lacks a lock. */
const LACKS: ReadonlySet<string> = new Set(['failover', 'lost at a restart'])
