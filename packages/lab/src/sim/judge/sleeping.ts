import type { HistoryRecord } from 'holdfast/testing'
import type { Plan } from '../plan/plan.ts'
import type { BroughtBack } from '../world/store-log.ts'
import type { Broken } from './judge.ts'

/** The longest safety poll of a waiter: a second and a quarter. */
const POLL_BOUND = 1_250
/** Round trips that it may take from waking up to holding: asking, being told to let others go first, asking again. */
const ROUND_TRIPS = 6
/** A process that woke another lets it go first for so long, and spreads what it asks for at the end of a lease. */
const STAND_BACK = 100

type Of<K extends HistoryRecord['kind']> = Extract<HistoryRecord, { kind: K }>

/** What was done to a lock, or that it was brought back. */
export type StoreEvent = Pick<Of<'store'>, 'time' | 'order' | 'expires'> & { readonly event: string }

interface Span {
  readonly from: number
  readonly until: number
}

/**
 * INV-Q1: nobody sleeps past a free lock by more than the poll bound. Judged where nothing was broken: while a request may
 * be held up, or a process stands still, it is not its own fault.
 */
export function judgeSleeping(
  plan: Plan,
  records: readonly HistoryRecord[],
  broughtBack: readonly BroughtBack[],
): Broken[] {
  const lateness = Math.max(...plan.clients.map(({ traits }) => traits.lateness))
  const bound = (POLL_BOUND + STAND_BACK) * 1.01 + 2 * ROUND_TRIPS * plan.delay.to + 3 * lateness
  const troubled = troubles(records, plan.budget)
  const broken: Broken[] = []
  const waits = waitsOf(records)
  for (const name of plan.names) {
    const free = freeSpans([
      ...records.filter((record): record is Of<'store'> => isStoreEvent(record, name)),
      ...broughtBack.filter((each) => each.name === name).map((each) => ({ event: 'back', ...each })),
    ])
    for (const wait of waits) {
      if (wait.call.name !== name) continue
      for (const span of free) {
        const from = Math.max(span.from, wait.call.time)
        const until = Math.min(span.until, wait.until)
        if (until - from <= bound || troubled.some((each) => each.from <= until && each.until >= from))
          continue
        broken.push({
          invariant: 'INV-Q1',
          name,
          sentence: `${wait.call.process} slept for ${Math.round(until - from)} ms while ${name} was free (${wait.call.id}).`,
          witness: [wait.call],
        })
      }
    }
  }
  return broken
}

function isStoreEvent(record: HistoryRecord, name: string): boolean {
  return record.kind === 'store' && record.name === name
}

function waitsOf(records: readonly HistoryRecord[]): { call: Of<'acquire-call'>; until: number }[] {
  const ends = new Map<string, number>()
  const deaths = new Map<string, number>()
  let last = 0
  for (const record of records) {
    if (record.kind === 'acquire-return') ends.set(record.id, record.time)
    if (record.kind === 'death') deaths.set(record.subject, record.time)
    last = Math.max(last, record.time)
  }
  return records
    .filter((record): record is Of<'acquire-call'> => record.kind === 'acquire-call' && record.wait > 0)
    .map((call) => ({ call, until: ends.get(call.id) ?? deaths.get(call.process) ?? last }))
}

/** When nobody stood in the lock, from what the server did, in its order. */
function freeSpans(events: readonly StoreEvent[]): Span[] {
  const spans: Span[] = []
  let freeFrom = -Infinity
  for (const { event, time, expires } of [...events].sort((one, other) => one.order - other.order)) {
    if (event === 'free') freeFrom = Math.min(freeFrom, time)
    else {
      if (freeFrom < time) spans.push({ from: freeFrom, until: time })
      freeFrom = expires ?? Infinity
    }
  }
  if (freeFrom < Infinity) spans.push({ from: freeFrom, until: Infinity })
  return spans
}

/** Spans in which somebody may have been kept from asking, or from being answered; and a while after. */
function troubles(records: readonly HistoryRecord[], budget: number): Span[] {
  return records.flatMap((record) => {
    if (record.kind !== 'stop' && record.kind !== 'fault') return []
    if (record.kind === 'fault' && !record.breaks.includes('service')) return []
    return [{ from: record.from, until: (record.until ?? Infinity) + budget + POLL_BOUND }]
  })
}
