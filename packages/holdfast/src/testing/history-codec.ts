import { InvalidArgumentError } from '../errors.ts'
import type {
  HistoryEntry,
  HistoryKind,
  HistoryNote,
  HistoryRecord,
  HistoryRecordOf,
} from './history-record.ts'

/** Every line carries it; a reader refuses what it does not know. */
export const HISTORY_VERSION = 1

type FieldType = 'text' | 'text?' | 'number' | 'number?' | 'flag' | 'flag?' | 'fence' | 'fence?' | 'texts'
type FieldsOf<K extends HistoryKind> = Readonly<
  Record<Exclude<keyof HistoryRecordOf<K>, 'kind' | 'time' | 'process'>, FieldType>
>

/** The fields of each kind beside `kind`, `time` and `process`; a question mark allows `null`. */
const FIELDS: { readonly [K in HistoryKind]: FieldsOf<K> } = {
  'acquire-call': {
    id: 'text',
    name: 'text',
    ttl: 'number?',
    wait: 'number',
    budget: 'number?',
    renews: 'flag?',
  },
  'acquire-return': {
    id: 'text',
    outcome: 'text',
    owner: 'text?',
    fence: 'fence?',
    lease: 'text?',
    sent: 'number?',
    deadline: 'number?',
    within: 'text?',
    error: 'text?',
  },
  renewal: { hold: 'text', deadline: 'number?', ttl: 'number?', sent: 'number?' },
  loss: { hold: 'text', reason: 'text', deadline: 'number?' },
  assertion: { hold: 'text', passed: 'flag' },
  'release-call': { id: 'text', hold: 'text', budget: 'number?' },
  'release-return': { id: 'text', outcome: 'text', reason: 'text?' },
  call: { id: 'text', operation: 'text', name: 'text?', wait: 'number', budget: 'number?' },
  return: { id: 'text', outcome: 'text', error: 'text?' },
  write: { resource: 'text', fence: 'fence', accepted: 'flag', order: 'number?', began: 'number?' },
  key: {
    key: 'text',
    name: 'text?',
    owner: 'text?',
    fence: 'fence?',
    expiresIn: 'number?',
    began: 'number?',
  },
  store: {
    name: 'text',
    event: 'text',
    order: 'number',
    owner: 'text',
    fence: 'fence?',
    expires: 'number?',
    cause: 'text?',
  },
  stop: { subject: 'text', from: 'number', until: 'number?', cause: 'text' },
  fault: {
    cause: 'text',
    breaks: 'texts',
    from: 'number',
    until: 'number?',
    name: 'text?',
    subject: 'text?',
  },
  death: { subject: 'text' },
  end: {},
  leak: { what: 'text', detail: 'text' },
}

/** The words that a text field is limited to, by kind and field. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'acquire-return.outcome': ['granted', 'busy', 'timeout', 'error', 'unknown'],
  'release-return.outcome': ['released', 'unconfirmed', 'not-held', 'error', 'unknown'],
  'return.outcome': ['done', 'failed'],
  'store.event': ['grant', 'renew', 'free'],
  'leak.what': ['rejection', 'timer', 'listener', 'socket', 'key'],
  'fault.breaks': ['leases', 'clocks', 'timing', 'service'],
}

/** The names in {@link FIELDS}, in their order. */
const NAMES = Object.fromEntries(
  Object.entries(FIELDS).map(([kind, fields]) => [kind, Object.keys(fields)]),
) as unknown as Readonly<Record<HistoryKind, readonly string[]>>

/** Completes a record written by hand: what was left out becomes `null`. */
export function historyRecord(entry: HistoryEntry): HistoryRecord {
  return recordOf(entry, entry.time, entry.process)
}

/** The same, of a note of a process. */
export function recordOf(note: HistoryNote, time: number, process: string): HistoryRecord {
  const given = note as unknown as Readonly<Record<string, unknown>>
  const record: Record<string, unknown> = { kind: note.kind, time, process }
  for (const name of NAMES[note.kind]) record[name] = given[name] ?? null
  return record as unknown as HistoryRecord
}

/** Writes a record as one line of JSON, without its line feed. Fences are digits; what is `null` is left out. */
export function encodeRecord(record: HistoryRecord): string {
  return JSON.stringify({ v: HISTORY_VERSION, ...record }, (_field, value: unknown) => {
    if (typeof value === 'bigint') return value.toString()
    return value === null ? undefined : value
  })
}

/**
 * Reads a line that {@link encodeRecord} wrote.
 *
 * @throws InvalidArgumentError that says what is wrong with the line
 */
export function decodeRecord(line: string): HistoryRecord {
  const parsed = parse(line)
  const { v, kind, time, process, ...rest } = parsed
  if (v !== HISTORY_VERSION) throw unreadable(line, `has the version ${String(v)}, not ${HISTORY_VERSION}`)
  if (typeof kind !== 'string' || !Object.hasOwn(FIELDS, kind)) throw unreadable(line, 'is of no known kind')
  if (typeof time !== 'number' || typeof process !== 'string')
    throw unreadable(line, 'has no time or no process')
  const record: Record<string, unknown> = { kind, time, process }
  for (const [field, type] of Object.entries(FIELDS[kind as HistoryKind])) {
    record[field] = decodeField(rest[field] ?? null, {
      type: type,
      path: `${kind}.${field}`,
      line,
    })
    delete rest[field]
  }
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw unreadable(line, `has the unknown field ${unknown}`)
  return record as unknown as HistoryRecord
}

function parse(line: string): Record<string, unknown> {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch {
    throw unreadable(line, 'is not JSON')
  }
  if (typeof parsed !== 'object' || parsed === null) throw unreadable(line, 'is not a record')
  return parsed as Record<string, unknown>
}

function decodeField(value: unknown, want: { type: FieldType; path: string; line: string }): unknown {
  const { type, path, line } = want
  if (value === null && type.endsWith('?')) return null
  const word = WORDS[path]
  switch (type) {
    case 'number':
    case 'number?':
      if (typeof value === 'number') return value
      break
    case 'flag':
    case 'flag?':
      if (typeof value === 'boolean') return value
      break
    case 'fence':
    case 'fence?':
      if (typeof value === 'string' && /^\d{1,20}$/.test(value)) return BigInt(value)
      break
    case 'texts':
      if (Array.isArray(value) && value.every((text) => word === undefined || word.includes(text as string)))
        return value
      break
    case 'text':
    case 'text?':
      if (typeof value === 'string' && (word === undefined || word.includes(value))) return value
      break
  }
  throw unreadable(line, `has a wrong or missing ${path}`)
}

function unreadable(line: string, problem: string): InvalidArgumentError {
  return new InvalidArgumentError('line', line, {
    problem,
    remedy: 'Give lines that a history log of this version wrote.',
  })
}
