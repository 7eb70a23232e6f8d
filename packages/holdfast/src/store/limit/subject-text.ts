import { HitLog, type Hit } from './algorithms/hit-log.ts'
import type { Subject, UsageRecord } from './subject.ts'

/** A subject as text (JSON), for stores that keep it so. A log is one flat list: time and weight, then the time since and weight. */
export function writeSubject(subject: Subject): string {
  return JSON.stringify({ ...subject, usages: subject.usages.map(plainRecord) })
}

/** Reads what `writeSubject` wrote. */
export function readSubject(text: string): Subject {
  const subject = JSON.parse(text) as Subject
  return { ...subject, usages: subject.usages.map(readRecord) }
}

function plainRecord(record: UsageRecord): UsageRecord {
  if (record.kind !== 'sliding-window') return record
  const { log } = record.usage as { log: HitLog }
  const numbers: number[] = []
  let before = 0
  // Also those that weigh nothing any more: they can be counted anew, as a take that is settled for more.
  for (const { time, weight } of log.all()) {
    numbers.push(time - before, weight)
    before = time
  }
  return { ...record, usage: { log: numbers } }
}

function readRecord(record: UsageRecord): UsageRecord {
  if (record.kind !== 'sliding-window') return record
  const { log: numbers } = record.usage as { log: readonly number[] }
  const hits: Hit[] = []
  let time = 0
  for (let i = 0; i < numbers.length; i += 2) {
    time += numbers[i] ?? 0
    hits.push({ time, weight: numbers[i + 1] ?? 0 })
  }
  return { ...record, usage: { log: HitLog.from(hits) } }
}
