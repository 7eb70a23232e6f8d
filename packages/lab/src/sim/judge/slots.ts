import type { HistoryRecord } from 'holdfast/testing'
import type { Plan } from '../plan/plan.ts'
import type { TakeNote } from '../world/traffic.ts'
import type { Broken } from './judge.ts'

/** A holder is told of a loss within this of its deadline. */
const TOLD_WITHIN_MS = 50

interface Believed {
  readonly process: string
  /** When the store granted it, at the earliest: what was lost after that may have lost it. */
  readonly granted: number
  readonly from: number
  readonly until: number
}

/** Who held more slots than there are, and why. */
export interface SlotVerdict {
  readonly broken: readonly Broken[]
  /** Spans in which too many believed to hold, by the faults that explain them. */
  readonly overlaps: Readonly<Record<string, number>>
}

/**
 * INV-R1 for slots: never more than the limit believe to hold one at once. As with locks that needs clocks that run and processes
 * that go on: where a fault broke that, overlaps are counted by cause.
 */
export function judgeSlots(
  plan: Plan,
  takes: readonly TakeNote[],
  records: readonly HistoryRecord[],
): SlotVerdict {
  const ends = endsOf(records)
  const broken: Broken[] = []
  const overlaps: Record<string, number> = {}
  for (const [index, limiter] of plan.limiters.entries()) {
    if (limiter.kind !== 'slots') continue
    const held = takes
      .filter((note) => note.limiter === index && note.slot !== null)
      .map((note) => believed(note, ends))
    for (const last of held) {
      const others = held.filter(
        ({ from, until }) => from <= last.from && until > last.from + tolerance(plan),
      )
      if (others.length <= limiter.limit) continue
      const causes = causesOf(records, others)
      for (const cause of causes) overlaps[cause] = (overlaps[cause] ?? 0) + 1
      if (causes.size > 0) continue
      broken.push({
        invariant: 'INV-R1',
        name: null,
        sentence: `${others.length} held one of ${limiter.limit} slots at ${last.from.toFixed(1)} ms: ${others.map(({ process }) => process).join(', ')}.`,
        witness: [],
      })
    }
  }
  return { broken: broken.slice(0, 1), overlaps }
}

function tolerance({ clients }: Plan): number {
  return TOLD_WITHIN_MS + Math.max(0, ...clients.map(({ traits }) => traits.lateness))
}

function believed(note: TakeNote, ends: ReadonlyMap<string, number>): Believed {
  const { process, asked, told, slot } = note
  const from = told?.world ?? 0
  const granted = (note.from ?? asked).world
  return { process, granted, from, until: Math.min(slot?.ended ?? Infinity, ends.get(process) ?? Infinity) }
}

/** When a process died, or began to close. */
function endsOf(records: readonly HistoryRecord[]): Map<string, number> {
  const ends = new Map<string, number>()
  const note = (process: string, time: number): void =>
    void ends.set(process, Math.min(time, ends.get(process) ?? Infinity))
  for (const record of records) {
    if (record.kind === 'death') note(record.subject, record.time)
    if (record.kind === 'call' && record.operation === 'close') note(record.process, record.time)
  }
  return ends
}

/** What befell those who believed: a stop of one of them, or leases that ended early. */
function causesOf(records: readonly HistoryRecord[], held: readonly Believed[]): Set<string> {
  const causes = new Set<string>()
  const from = Math.min(...held.map((each) => each.granted))
  const until = Math.max(...held.map((each) => each.from))
  for (const record of records) {
    if (record.kind !== 'stop' && record.kind !== 'fault') continue
    const breaks =
      record.kind === 'stop' || record.breaks.includes('leases') || record.breaks.includes('timing')
    const concerns = record.subject === null || held.some(({ process }) => process === record.subject)
    if (breaks && concerns && record.from <= until && (record.until ?? Infinity) >= from)
      causes.add(record.cause)
  }
  return causes
}
