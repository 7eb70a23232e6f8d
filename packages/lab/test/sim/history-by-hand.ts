import { historyRecord, type HistoryEntry, type HistoryRecord } from 'holdfast/testing'

/**
 * Histories of one lock, `a`, written by hand: a line for each thing that happens, its time first. Process `p` is the one in question; what it
 * asks for is `p-1`, what it gives back `p-2`. Leases last a second, budgets are 100 ms.
 */

export const OWN = 'PPPPPPPPPPPPPPAAAAAAAA@host:1'
export const OTHER = 'QQQQQQQQQQQQQQAAAAAAAA@host:1'
/** Processes, by what their owners begin with. */
export const PROCESSES: ReadonlyMap<string, string> = new Map([
  ['PPPPPPPPPPPPPP', 'p'],
  ['QQQQQQQQQQQQQQ', 'q'],
])

type Fault = Extract<HistoryEntry, { kind: 'fault' }>
type Told = Pick<Extract<HistoryEntry, { kind: 'acquire-return' }>, 'fence' | 'deadline'>

export const records = (...entries: HistoryEntry[]): HistoryRecord[] => entries.map(historyRecord)

export const ask = (time: number, process = 'p', { wait = 500 } = {}): HistoryEntry => ({
  kind: 'acquire-call',
  time,
  process,
  id: `${process}-1`,
  name: 'a',
  ttl: 1_000,
  wait,
  budget: 100,
  renews: true,
})

export const granted = (
  time: number,
  process = 'p',
  { fence = 5n, deadline = time + 990 }: Partial<Told> = {},
): HistoryEntry => {
  const owner = process === 'p' ? OWN : OTHER
  const id = `${process}-1`
  return {
    kind: 'acquire-return',
    time,
    process,
    id,
    outcome: 'granted',
    owner,
    fence,
    lease: owner,
    deadline,
  }
}

export const refused = (time: number, outcome: 'busy' | 'error'): HistoryEntry => ({
  kind: 'acquire-return',
  time,
  process: 'p',
  id: 'p-1',
  outcome,
})

export const renewed = (time: number, deadline: number): HistoryEntry => ({
  kind: 'renewal',
  time,
  process: 'p',
  hold: 'p-1',
  deadline,
})

export const lost = (time: number, reason: string): HistoryEntry => ({
  kind: 'loss',
  time,
  process: 'p',
  hold: 'p-1',
  reason,
})

export const givesBack = (time: number): HistoryEntry => ({
  kind: 'release-call',
  time,
  process: 'p',
  id: 'p-2',
  hold: 'p-1',
  budget: 100,
})

export const givenBack = (time: number): HistoryEntry => ({
  kind: 'release-return',
  time,
  process: 'p',
  id: 'p-2',
  outcome: 'released',
})

let order = 0
/** What the server does comes in the order in which it is written. */
export const nextOrder = (): number => (order += 1)

export const store = (
  time: number,
  event: 'grant' | 'renew',
  owner: string,
  { fence = 5n, expires = time + 1_000 } = {},
): HistoryEntry => ({
  kind: 'store',
  time,
  process: 'world',
  name: 'a',
  event,
  owner,
  order: nextOrder(),
  fence,
  expires,
})

export const freed = (time: number, owner: string, cause?: string): HistoryEntry => ({
  kind: 'store',
  time,
  process: 'world',
  name: 'a',
  event: 'free',
  owner,
  order: nextOrder(),
  ...(cause === undefined ? {} : { cause }),
})

export const keySeen = (time: number): HistoryEntry => ({
  kind: 'key',
  time,
  process: 'world',
  key: 'k',
  name: 'a',
  owner: OWN,
  expiresIn: 0,
})

export const fault = (
  from: number,
  until: number | null,
  breaks: Fault['breaks'][number],
  more: Partial<Pick<Fault, 'time' | 'cause' | 'subject'>> = {},
): HistoryEntry => ({
  kind: 'fault',
  time: from,
  process: 'world',
  cause: 'test',
  breaks: [breaks],
  from,
  until,
  ...more,
})

export const asleep = (from: number, until: number): HistoryEntry => ({
  kind: 'stop',
  time: until,
  process: 'p',
  from,
  until,
  cause: 'asleep',
  subject: 'p',
})

export const died = (time: number): HistoryEntry => ({ kind: 'death', time, process: 'world', subject: 'p' })

/** Something else that the process asks for, and is never told of. */
export const asksOther = (time: number): HistoryEntry => ({
  kind: 'call',
  time,
  process: 'p',
  id: 'p-9',
  operation: 'inspect',
  wait: 0,
})

export const ended = (time: number): HistoryEntry => ({ kind: 'end', time, process: 'p' })
