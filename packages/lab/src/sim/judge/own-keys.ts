import type { HistoryRecord } from 'holdfast/testing'
import { SET_BACK } from '../world/fault-injector.ts'
import type { BroughtBack } from '../world/store-log.ts'
import type { Plan } from '../plan/plan.ts'
import { isBackAt } from './excuses.ts'
import type { Broken } from './judge.ts'
import type { StoreEvent } from './sleeping.ts'

/** Characters of an owner that name its process. */
const PROCESS_CHARACTERS = 14

type Of<K extends HistoryRecord['kind']> = Extract<HistoryRecord, { kind: K }>

interface Ask {
  readonly call: Of<'acquire-call'>
  readonly returned: Of<'acquire-return'> | null
}

/**
 * INV-H2 for owners of which no caller was told. The simulator knows whose they are: a call may ask under several owners, one
 * after the other, and nothing of those that it gave up may stay longer than it takes to clear away; nor may a call be told
 * that the lock is busy when it is its own.
 *
 * @param names of processes, by what their owners begin with
 */
export function judgeOwnKeys(
  plan: Plan,
  records: readonly HistoryRecord[],
  names: ReadonlyMap<string, string>,
  broughtBack: readonly BroughtBack[],
): Broken[] {
  const asks = asksOf(records)
  const told = new Set(asks.map(({ returned }) => returned?.owner))
  const bound = compensationBound(plan)
  const maxHeld = heldTooLong(records)
  const broken: Broken[] = []
  for (const key of records) {
    if (key.kind !== 'key' || key.owner === null) continue
    const process = names.get(key.owner.slice(0, PROCESS_CHARACTERS))
    if (process === undefined) continue
    const own = asks.filter(
      ({ call }) => call.process === process && call.name === key.name && call.time <= key.time,
    )
    // It may be of any of them: one that waits may have been there before one that has failed since.
    const last = own.at(-1)
    const ends = own.map(({ returned }) => returned?.time ?? Infinity)
    const givenUp = told.has(key.owner)
      ? maxHeld.get(key.owner)
      : ends.reduce((latest, end) => Math.max(latest, end), last === undefined ? Infinity : 0)
    if (givenUp === undefined) continue
    const until = putOff(records, { process, until: givenUp + bound, bound })
    if (key.time <= until || isExcused(records, { process, until, bound })) continue
    if (isBackAt(records, key.time)) continue
    broken.push({
      invariant: 'INV-H2',
      name: key.name,
      sentence: `${key.name} stood for ${key.owner} of ${process} ${(key.time - until).toFixed(1)} ms after it had to be gone.`,
      witness: [...(last === undefined ? [] : [last.call]), ...(last?.returned ? [last.returned] : []), key],
    })
  }
  return [...broken, ...judgeBusy(asks, records, { told, names, broughtBack, delay: plan.delay.to })]
}

/** When holds that were held too long were taken from their holders, by owner: the key is given back at once. */
function heldTooLong(records: readonly HistoryRecord[]): Map<string, number> {
  const owners = new Map<string, string>()
  const ends = new Map<string, number>()
  for (const record of records) {
    if (record.kind === 'acquire-return' && record.owner !== null) owners.set(record.id, record.owner)
    const owner = record.kind === 'loss' && record.reason === 'max-hold' ? owners.get(record.hold) : undefined
    if (owner !== undefined) ends.set(owner, record.time)
  }
  return ends
}

export interface Bounded {
  readonly process: string
  readonly until: number
  readonly bound: number
}

/** Nothing can be taken back while nothing passes, nor by a process that stands still. */
export function putOff(records: readonly HistoryRecord[], { process, until, bound }: Bounded): number {
  let end = until
  for (const record of records) {
    if (record.kind !== 'stop' && record.kind !== 'fault') continue
    if (record.kind === 'fault' && !record.breaks.includes('service')) continue
    if (record.subject !== null && record.subject !== process) continue
    if (record.from <= end) end = Math.max(end, (record.until ?? Infinity) + bound)
  }
  return end
}

/** The dead take nothing back; closing is bounded, and what it could not reach in its time runs out by itself. */
function isExcused(records: readonly HistoryRecord[], { process, until, bound }: Bounded): boolean {
  return records.some((record) => {
    if (record.kind === 'death') return record.subject === process && record.time <= until
    // A clock that was set back lengthened it.
    if (record.kind === 'fault') return record.cause === SET_BACK
    return (
      record.kind === 'call' &&
      record.operation === 'close' &&
      record.process === process &&
      isTroubled(records, { from: record.time - bound, until: record.time + bound })
    )
  })
}

/** A release in the background is repeated after pauses of up to a second, and each takes up to a budget. */
export function compensationBound({ budget }: Plan): number {
  return 3 * budget + 1_000 + 100
}

function judgeBusy(
  asks: readonly Ask[],
  records: readonly HistoryRecord[],
  known: {
    told: ReadonlySet<string | null | undefined>
    names: ReadonlyMap<string, string>
    broughtBack: readonly BroughtBack[]
    /** Milliseconds that an answer takes at most. */
    delay: number
  },
): Broken[] {
  const events = records.filter((record): record is Of<'store'> => record.kind === 'store')
  const broken: Broken[] = []
  for (const { call, returned } of asks) {
    if (returned?.outcome !== 'busy' && returned?.outcome !== 'timeout') continue
    const before = events.filter(({ name, time }) => name === call.name && time <= returned.time)
    const last = before.at(-1)
    if (last === undefined || last.event === 'free' || (last.expires ?? Infinity) <= returned.time) continue
    const { owner } = last
    if (known.told.has(owner) || known.names.get(owner.slice(0, PROCESS_CHARACTERS)) !== call.process)
      continue
    const granted = before.findLast((event) => event.event === 'grant' && event.owner === owner)
    // Another copy of its ask was refused, and the answer of this one was still on its way when the wait was over.
    if (granted === undefined || granted.time >= returned.time - known.delay) continue
    const span = { from: call.time, until: returned.time }
    // An earlier try may have found it truly taken, it may be another call's of the process, or could not be cleared away.
    const back = known.broughtBack.filter(({ name }) => name === call.name)
    const others = [...before, ...back.map((each) => ({ event: 'back', ...each }))].filter(
      (event) => event.owner !== owner && event.order < granted.order,
    )
    if (wasTaken(others, call.time)) continue
    const isOlder = granted.time < call.time
    if (isOfAnother(asks, call, granted) || (isOlder && isTroubled(records, span))) continue
    broken.push({
      invariant: 'INV-H2',
      name: call.name,
      sentence: `${call.process} was told that ${call.name} is taken, and had it itself, for ${owner}.`,
      witness: [call, granted, returned],
    })
  }
  return broken
}

/** Whether a lock was granted to another call of the process, which was not answered before this one began. */
function isOfAnother(asks: readonly Ask[], call: Of<'acquire-call'>, granted: Of<'store'>): boolean {
  return asks.some(
    (ask) =>
      ask.call !== call &&
      ask.call.process === call.process &&
      ask.call.name === call.name &&
      ask.call.time <= granted.time &&
      (ask.returned?.time ?? Infinity) >= call.time,
  )
}

function isTroubled(records: readonly HistoryRecord[], span: { from: number; until: number }): boolean {
  return records.some(
    (record) =>
      (record.kind === 'stop' || (record.kind === 'fault' && record.breaks.includes('service'))) &&
      record.from <= span.until &&
      (record.until ?? Infinity) >= span.from,
  )
}

/** Whether somebody stood in the lock at some moment since, going by what the server did. */
function wasTaken(events: readonly StoreEvent[], since: number): boolean {
  let standsUntil = -Infinity
  for (const { event, time, expires } of [...events].sort((one, other) => one.order - other.order)) {
    if (time > since && (standsUntil > since || event !== 'free')) return true
    standsUntil = event === 'free' ? -Infinity : (expires ?? Infinity)
  }
  return standsUntil > since
}

function asksOf(records: readonly HistoryRecord[]): Ask[] {
  const returns = new Map<string, Of<'acquire-return'>>()
  for (const record of records) if (record.kind === 'acquire-return') returns.set(record.id, record)
  return records
    .filter((record): record is Of<'acquire-call'> => record.kind === 'acquire-call')
    .map((call) => ({ call, returned: returns.get(call.id) ?? null }))
    .sort((one, other) => one.call.time - other.call.time)
}
