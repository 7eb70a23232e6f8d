import type { HistoryRecord } from 'holdfast/testing'
import type { Plan } from '../plan/plan.ts'
import { ANSWERS_CUT } from '../world/fault-injector.ts'
import type { Broken } from './judge.ts'

/** Connecting anew takes no longer, in milliseconds; unless its answers are cut: then there is no end of it. */
const CONNECTED_WITHIN = 3_000

type Of<K extends HistoryRecord['kind']> = Extract<HistoryRecord, { kind: K }>

/**
 * INV-H2 where requests arrive and answers do not: what is given back is gone within the budget, though nobody hears of it; also where the
 * server does not know the script, and says so in vain. Judged where nothing else is in the way.
 */
export function judgeUnheard(plan: Plan, records: readonly HistoryRecord[]): Broken[] {
  // Where to go on a cluster is told by answers.
  if (plan.nodes !== undefined) return []
  const lateness = Math.max(...plan.clients.map(({ traits }) => traits.lateness))
  const bound = plan.budget + 2 * plan.delay.to + 3 * lateness
  const broken: Broken[] = []
  for (const call of records) {
    if (call.kind !== 'release-call') continue
    const until = call.time + bound
    const grant = records.find(
      (record): record is Of<'acquire-return'> => record.kind === 'acquire-return' && record.id === call.hold,
    )
    // Who has lost it asks once, and no more.
    const wasLost = records.some(
      (record) => record.kind === 'loss' && record.hold === call.hold && record.time <= until,
    )
    if (grant === undefined || wasLost || !isUnheard(records, call, until)) continue
    if (isHandedOn(records, grant, call)) continue
    if (!stands(records, grant, call.time, until)) continue
    broken.push({
      invariant: 'INV-H2',
      name: null,
      sentence: `${call.process} gave back the lock of ${grant.owner}, which arrived, and stood ${bound.toFixed(0)} ms later.`,
      witness: [grant, call],
    })
  }
  return broken
}

/** Whether for all that time the process was not answered, and nothing else kept it from being heard. */
function isUnheard(
  records: readonly HistoryRecord[],
  { process, time }: Of<'release-call'>,
  until: number,
): boolean {
  const concerns = (subject: string | null): boolean => subject === null || subject === process
  const isCut = (record: HistoryRecord): boolean =>
    record.kind === 'fault' && record.cause === ANSWERS_CUT && record.subject === process
  const cut = records
    .filter((record) => record.kind === 'fault')
    .find((fault) => isCut(fault) && fault.from <= time && (fault.until ?? Infinity) >= until)
  if (cut === undefined) return false
  const connected = cut.from - CONNECTED_WITHIN
  return !records.some((record) => {
    if (record.kind === 'death') return record.subject === process && record.time <= until
    if (record.kind === 'call' && record.operation === 'close')
      return record.process === process && record.time <= until
    if ((record.kind !== 'stop' && record.kind !== 'fault') || isCut(record) || !concerns(record.subject))
      return false
    if (record.kind === 'fault' && !record.breaks.includes('service')) return false
    return record.from <= until && (record.until ?? Infinity) >= connected
  })
}

/** Whether the next call of the process has the lease. */
function isHandedOn(
  records: readonly HistoryRecord[],
  { owner, process }: Of<'acquire-return'>,
  call: Of<'release-call'>,
): boolean {
  return records.some(
    (record) =>
      record.kind === 'acquire-return' &&
      record.process === process &&
      record.owner === owner &&
      record.time >= call.time,
  )
}

/** Whether a lock stood for its owner for all that time, and would have for longer. */
function stands(
  records: readonly HistoryRecord[],
  { owner }: Of<'acquire-return'>,
  from: number,
  until: number,
): boolean {
  const own = records.filter(
    (record): record is Of<'store'> =>
      record.kind === 'store' && record.owner === owner && record.time <= until,
  )
  const last = own.toSorted((one, other) => one.order - other.order).at(-1)
  return last !== undefined && last.event !== 'free' && last.time <= from && (last.expires ?? 0) > until
}
