import { formatDuration } from '../../duration.ts'
import type { HistoryRecord } from '../history-record.ts'
import type { Verdict, Violation } from './verdict.ts'

const MAX_OWNER = 24

/**
 * Writes records as a timeline for a person: one line each with the milliseconds since the first, who, and what. The
 * records may come in any order; those of one process and moment stay as they are.
 */
export function formatWitness(records: readonly HistoryRecord[]): string {
  const ordered = [...records].sort((one, other) => one.time - other.time)
  const start = ordered[0]?.time ?? 0
  const times = ordered.map(({ time }) => since(start, time))
  const width = Math.max(0, ...times.map((time) => time.length))
  const who = Math.max(0, ...ordered.map(({ process }) => process.length))
  return ordered
    .map(
      (record, at) =>
        `${times[at]?.padStart(width)} ms  ${record.process.padEnd(who)}  ${describe(record, start)}`,
    )
    .join('\n')
}

/** Writes a violation: its invariant and sentence, and the witness below. */
export function formatViolation(violation: Violation): string {
  const witness = formatWitness(violation.witness).replace(/^/gm, '    ')
  return `${violation.invariant}  ${violation.sentence}\n${witness}`
}

/** Writes a verdict: what was judged, and every violation that is shown. Made for the message of a failed test. */
export function formatVerdict(verdict: Verdict): string {
  const { counted, violations, undecided } = verdict
  const { acquires, overlaps } = counted
  const found = Object.entries(counted.violations).map(([invariant, count]) => `${invariant} ${times(count)}`)
  const lines = [
    found.length > 0
      ? `The history breaks ${found.join(', ')}.`
      : 'The history keeps every invariant that was judged.',
    `Records: ${counted.records}, processes: ${counted.processes}, names: ${counted.names}. ` +
      `Acquires granted: ${acquires.granted}, busy: ${acquires.busy + acquires.timeout}, ` +
      `failed or unknown: ${acquires.error + acquires.unknown + acquires.unsettled}. ` +
      `Overlaps: ${overlaps.count}, ${overlaps.milliseconds.toFixed(1)} ms.`,
  ]
  if (undecided.length > 0) lines.push(`INV-M1 could not be decided for ${undecided.join(', ')}.`)
  return [...lines, ...violations.map((violation) => `\n${formatViolation(violation)}`)].join('\n')
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function since(start: number, time: number): string {
  return (time - start).toFixed(3)
}

function describe(record: HistoryRecord, start: number): string {
  const at = (time: number | null): string => (time === null ? 'for ever' : `until ${since(start, time)} ms`)
  const said = (time: number | null): string => (time === null ? '' : ` ${at(time)}`)
  switch (record.kind) {
    case 'acquire-call':
      return `asks for ${record.name}${details({ ttl: length(record.ttl), wait: length(record.wait) })}  [${record.id}]`
    case 'acquire-return':
      if (record.outcome !== 'granted')
        return `is answered ${record.outcome}${because(record.error)}  [${record.id}]`
      return `holds it${said(record.deadline)}${details({ fence: record.fence, owner: short(record.owner) })}  [${record.id}]`
    case 'renewal':
      return `holds it${said(record.deadline)}  [${record.hold}]`
    case 'loss':
      return `is told that it is lost: ${record.reason}  [${record.hold}]`
    case 'assertion':
      return `${record.passed ? 'is assured that it holds' : 'is refused the assurance that it holds'}  [${record.hold}]`
    case 'release-call':
      return `asks for release  [${record.hold}, ${record.id}]`
    case 'release-return':
      return `is answered ${record.outcome}${because(record.reason)}  [${record.id}]`
    case 'call':
      return `calls ${record.operation}${details({ name: record.name, wait: length(record.wait) })}  [${record.id}]`
    case 'return':
      return `is ${record.outcome}${because(record.error)}  [${record.id}]`
    case 'write':
      return `writes to ${record.resource}, ${record.accepted ? 'accepted' : 'refused'}${details({ fence: record.fence, order: record.order })}`
    case 'key':
      return `sees ${record.key}${details({ owner: short(record.owner), fence: record.fence, expires: record.expiresIn === null ? 'never' : `in ${record.expiresIn} ms` })}`
    case 'store':
      return `${STORE_WORDS[record.event]} ${record.name}${details({ owner: short(record.owner), fence: record.fence, cause: record.cause })}  [#${record.order}]`
    case 'stop':
      return `${record.subject} stood still from ${since(start, record.from)} ms, ${at(record.until)}: ${record.cause}`
    case 'fault':
      return `fault from ${since(start, record.from)} ms, ${at(record.until)}: ${record.cause}${details({ breaks: record.breaks.join(' ') })}`
    case 'death':
      return `${record.subject} is killed`
    case 'end':
      return 'ends'
    case 'leak':
      return `leaves a ${record.what}: ${record.detail}`
  }
}

const STORE_WORDS = { grant: 'grants', renew: 'renews', free: 'frees' } as const

function details(values: Readonly<Record<string, string | number | bigint | null>>): string {
  const present = Object.entries(values).filter(([, value]) => value !== null)
  return present.length === 0 ? '' : ` (${present.map(([name, value]) => `${name} ${value}`).join(', ')})`
}

function because(reason: string | null): string {
  return reason === null ? '' : `: ${reason}`
}

function length(ms: number | null): string | null {
  return ms === null ? null : formatDuration(ms)
}

function short(owner: string | null): string | null {
  if (owner === null || owner.length <= MAX_OWNER) return owner
  return `${owner.slice(0, MAX_OWNER - 1)}…`
}
