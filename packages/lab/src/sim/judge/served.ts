import type { HistoryRecord } from 'holdfast/testing'
import type { Plan } from '../plan/plan.ts'
import { SLOT_MOVES } from '../world/cluster-faults.ts'
import type { Broken } from './judge.ts'

type Of<K extends HistoryRecord['kind']> = Extract<HistoryRecord, { kind: K }>

/** What failed, and from when on it was asked for. */
interface Failed {
  readonly what: string
  readonly process: string
  readonly from: number
  readonly until: number
  /** Whether it is promised also while a slot moves. */
  readonly whileMoving: boolean
}

/** Failures of the store; all else is an answer. */
const OF_THE_STORE = /^STORE_/

/**
 * INV-L1 in a cluster: while no node is in trouble, nothing fails for reasons of the store. While a slot moves a lock may have to be waited
 * for, and yet what is held is renewed and given back.
 */
export function judgeServed(plan: Plan, records: readonly HistoryRecord[]): Broken[] {
  if (plan.nodes === undefined) return []
  return failures(records, plan.budget)
    .filter((failed) => !isExcused(failed, records))
    .slice(0, 1)
    .map(({ what, process, from, until }) => ({
      invariant: 'INV-L1',
      name: null,
      sentence: `${process} ${what}, from ${from.toFixed(1)} to ${until.toFixed(1)} ms, with nothing wrong at the nodes.`,
      witness: [],
    }))
}

function isExcused(
  { process, from, until, whileMoving }: Failed,
  records: readonly HistoryRecord[],
): boolean {
  return records.some((record) => {
    // Who closes gives up what is still being asked.
    if (record.kind === 'call' && record.operation === 'close')
      return record.process === process && record.time <= until
    if (record.kind !== 'fault' && record.kind !== 'stop') return false
    if (record.subject !== null && record.subject !== process) return false
    if (record.kind === 'fault' && !record.breaks.includes('service')) return false
    if (record.kind === 'fault' && record.cause === SLOT_MOVES && whileMoving) return false
    return record.from <= until && (record.until ?? Infinity) >= from
  })
}

function failures(records: readonly HistoryRecord[], budget: number): Failed[] {
  const asked = new Map<string, Of<'acquire-call'> | Of<'release-call'>>()
  const deadlines = new Map<string, number>()
  const failed: Failed[] = []
  for (const record of records) {
    const { process, time: until } = record
    if (record.kind === 'acquire-call' || record.kind === 'release-call') asked.set(record.id, record)
    if (record.kind === 'acquire-return' || record.kind === 'renewal')
      deadlines.set(record.kind === 'renewal' ? record.hold : record.id, until)
    const code =
      record.kind === 'acquire-return'
        ? record.error
        : record.kind === 'release-return'
          ? record.reason
          : null
    if (
      (record.kind === 'acquire-return' || record.kind === 'release-return') &&
      OF_THE_STORE.test(code ?? '')
    ) {
      const whileMoving = record.kind === 'release-return'
      const what = `was told ${code ?? ''} when it ${whileMoving ? 'gave a lock back' : 'asked for a lock'}`
      failed.push({ what, process, from: asked.get(record.id)?.time ?? until, until, whileMoving })
    }
    if (record.kind === 'loss' && record.reason === 'unreachable') {
      const from = (deadlines.get(record.hold) ?? until) - budget
      failed.push({ what: 'lost a lock as unreachable', process, from, until, whileMoving: true })
    }
  }
  return failed
}
