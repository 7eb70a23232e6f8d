import type { HistoryRecord, Violation } from 'holdfast/testing'
import { putOff } from './own-keys.ts'
import { ASLEEP, BLINDED, BRINGS_BACK, SET_BACK, WALL_STEPPED } from '../world/fault-injector.ts'

type Of<K extends HistoryRecord['kind']> = Extract<HistoryRecord, { kind: K }>

/**
 * Whether what the checker calls a violation is none, going by what the simulator knows besides. Each reason has its rule here.
 *
 * @param bound milliseconds in which what was given back is gone
 */
export function isExcused(violation: Violation, records: readonly HistoryRecord[], bound: number): boolean {
  return (
    isByWallClock(violation, records) ||
    isOfUntoldOwner(violation, records) ||
    wasBeingExtended(violation, records) ||
    stoodStillBetween(violation, records) ||
    isBroughtBack(violation, records, bound) ||
    wasGrantedAgain(violation, records) ||
    lastsLonger(violation, records)
  )
}

/** A server that another had taken over from granted it: that order of grants is not the one that is judged. */
export function isOfStray({ invariant, witness }: Violation, stray: ReadonlySet<string>): boolean {
  return (
    invariant === 'INV-M1' &&
    witness.some((record) => record.kind === 'acquire-return' && stray.has(record.owner ?? ''))
  )
}

/** The checker does not know which process an owner belongs to of which no caller was told; we do, see `judgeOwnKeys`. */
function isOfUntoldOwner({ invariant, witness }: Violation, records: readonly HistoryRecord[]): boolean {
  const key = witness.at(-1)
  if (invariant !== 'INV-H2' || key?.kind !== 'key') return false
  return !records.some((record) => record.kind === 'acquire-return' && record.owner === key.owner)
}

/** An extension that was under way when its hold ended may still have been done: nobody was told of the longer lease. */
function wasBeingExtended({ invariant, witness }: Violation, records: readonly HistoryRecord[]): boolean {
  const key = witness.at(-1)
  if (invariant !== 'INV-H2' || key?.kind !== 'key') return false
  const done = new Set(
    records.flatMap((record) => (record.kind === 'return' && record.outcome === 'done' ? [record.id] : [])),
  )
  return records.some(
    (record) =>
      record.kind === 'call' &&
      record.operation === 'extend' &&
      !done.has(record.id) &&
      witness.some(({ process }) => process === record.process),
  )
}

/** What asks more than once, or does a work, goes on from where it was when its process stands still no more. */
function stoodStillBetween({ invariant, witness }: Violation, records: readonly HistoryRecord[]): boolean {
  const call = witness.find((record) => record.kind === 'call')
  const last = witness.at(-1)
  if (invariant !== 'INV-H1' || call === undefined || last?.kind !== 'return') return false
  if (!IN_PARTS.has(call.operation)) return false
  const promised = call.wait + (call.budget ?? 0)
  return records.some(
    (record) =>
      record.kind === 'stop' &&
      record.subject === call.process &&
      record.from <= last.time &&
      (record.until ?? Infinity) >= call.time &&
      last.time <= (record.until ?? Infinity) + promised,
  )
}

const IN_PARTS: ReadonlySet<string> = new Set(['force', 'run'])

/**
 * A sleep, or a wall clock stepped forward, ends a lease early by the wall clock, while timers go by the monotonic one: INV-T1
 * speaks of the latter, and that the holder is told as soon as it asks is INV-T2. A wait goes by the monotonic clock too: a
 * promise settles later by as much as its machine slept.
 */
function isByWallClock(violation: Violation, records: readonly HistoryRecord[]): boolean {
  const { invariant, witness } = violation
  const told = witness.map(({ process }) => process)
  const apart = (cause: string, since = 0): boolean =>
    records.some(
      (record) =>
        (record.kind === 'stop' || record.kind === 'fault') &&
        record.cause === cause &&
        (record.until ?? Infinity) >= since &&
        told.includes(record.subject ?? ''),
    )
  if (invariant === 'INV-T2') return apart(BLINDED)
  // The timer is set by whichever clock ends first: what came apart before that is known to it.
  const set = Math.max(0, ...witness.map((record) => (SETS_TIMER.has(record.kind) ? record.time : 0)))
  // With no clock left that tells how long it slept, it counts on that time as well.
  const last = witness.at(-1)?.time ?? 0
  const isBlind = records.some(
    (record) =>
      record.kind === 'fault' &&
      record.cause === BLINDED &&
      record.time <= last &&
      told.includes(record.subject ?? ''),
  )
  if (invariant === 'INV-T1') return isBlind || apart(ASLEEP, set) || apart(WALL_STEPPED, set)
  if (invariant !== 'INV-H1' || !apart(ASLEEP)) return false
  return witness.some(({ kind }) => RETURNS.has(kind)) || diedInTime(violation, records)
}

/** It had not settled when its process died, and by the monotonic clock it had time left. */
function diedInTime({ witness }: Violation, records: readonly HistoryRecord[]): boolean {
  const call = witness[0]
  if (call?.kind !== 'acquire-call' && call?.kind !== 'call') return false
  const death = records.find((record) => record.kind === 'death' && record.subject === call.process)
  const sleeps = records.filter(
    (record) =>
      record.kind === 'stop' &&
      record.cause === ASLEEP &&
      record.subject === call.process &&
      record.from >= call.time,
  ) as Of<'stop'>[]
  const slept = sleeps.reduce((sum, { from, until }) => sum + (until ?? Infinity) - from, 0)
  return death !== undefined && death.time <= call.time + call.wait + (call.budget ?? 0) + slept
}

/** Connecting anew takes up to two seconds, and releasing a budget, in milliseconds. */
const REPEATED_WITHIN = 3_500

const SETS_TIMER: ReadonlySet<HistoryRecord['kind']> = new Set(['acquire-return', 'renewal'])
const RETURNS: ReadonlySet<HistoryRecord['kind']> = new Set(['acquire-return', 'release-return', 'return'])

/**
 * The server came back with data of a while before. A key that was released is there again, and whoever released it sends its
 * release once more: an old holder who gives it back meanwhile is rightly told that it did, whoever held it in between. The key has
 * to be gone as soon after that as after any release; the dead, and who has closed, send nothing more.
 */
function isBroughtBack(
  { invariant, witness }: Violation,
  records: readonly HistoryRecord[],
  bound: number,
): boolean {
  const last = witness.at(-1)
  if (invariant !== 'INV-H2' || last === undefined) return false
  const back = records.flatMap((record) =>
    record.kind === 'fault' && BRINGS_BACK.has(record.cause) && record.from <= last.time ? [record] : [],
  )
  if (back.length === 0 || last.kind !== 'key') return back.length > 0
  if (isBackAt(records, last.time) || hasLeft(witness, records)) return true
  const process = witness.find(({ kind }) => kind !== 'key')?.process ?? ''
  return back.some(({ until }) => {
    const gone = putOff(records, { process, until: (until ?? Infinity) + bound, bound })
    return last.time <= gone
  })
}

/** Its lock was another's meanwhile, and was its own again by a later copy of its acquire: that is what it released. */
function wasGrantedAgain({ invariant, witness }: Violation, records: readonly HistoryRecord[]): boolean {
  const [own, other] = witness.filter((record) => record.kind === 'acquire-return')
  const last = witness.at(-1)
  if (invariant !== 'INV-H2' || last?.kind !== 'release-return') return false
  const grants = records.filter(
    (record): record is Of<'store'> => record.kind === 'store' && record.event === 'grant',
  )
  const theirs = grants.findLast(({ owner }) => owner === other?.owner)
  return grants.some(
    ({ owner, order, time }) =>
      owner === own?.owner && order > (theirs?.order ?? Infinity) && time <= last.time,
  )
}

/** Whether a key that was there at that time may have been brought back, and could not be given back again yet. */
export function isBackAt(records: readonly HistoryRecord[], time: number): boolean {
  const back = records.filter(
    (record) => record.kind === 'fault' && BRINGS_BACK.has(record.cause) && record.from <= time,
  )
  const hinders = records.filter((record) => record.kind === 'stop' || back.includes(record))
  const until = hinders.map(
    (record) => ('until' in record ? (record.until ?? Infinity) : 0) + REPEATED_WITHIN,
  )
  return back.length > 0 && until.some((each) => time <= each)
}

/** Whether a process of those that are named had died, or begun to close, by the last of the records. */
function hasLeft(witness: Violation['witness'], records: readonly HistoryRecord[]): boolean {
  const until = witness.at(-1)?.time ?? 0
  const asked = new Set(witness.filter(({ kind }) => kind !== 'key').map(({ process }) => process))
  return records.some(
    (record) =>
      record.time <= until &&
      ((record.kind === 'death' && asked.has(record.subject)) ||
        (record.kind === 'call' && record.operation === 'close' && asked.has(record.process))),
  )
}

/** A server's clock that is set back lengthens the leases that stand. */
function lastsLonger({ invariant, witness }: Violation, records: readonly HistoryRecord[]): boolean {
  const key = witness.at(-1)
  if (invariant !== 'INV-H2' || key?.kind !== 'key') return false
  return records.some(
    (record) => record.kind === 'fault' && record.cause === SET_BACK && record.from <= key.time,
  )
}
