import type { HistoryRecord } from 'holdfast/testing'
import { BRINGS_BACK } from '../world/fault-injector.ts'
import type { Broken } from './judge.ts'

/** Expiry is kept in whole milliseconds, on a clock that may run faster or slower than the world's. */
const READING_MS = 2
/** The most fences that one grant may bring. */
const MOST_FENCES = 1_000n

/** Reasons of a loss that speak of what was seen on the server. */
const GONE: ReadonlySet<string> = new Set(['missing', 'taken', 'forced'])

type Of<K extends HistoryRecord['kind']> = Extract<HistoryRecord, { kind: K }>
type Told = Of<'acquire-return'> | Of<'renewal'>

/**
 * What no history of clients alone can show, since only a simulator sees both sides: no holder counts on more time than the
 * server has given, none is told of a loss that is none (INV-T1), and no renewal is taken for its own that prolonged another
 * grant (INV-M1). A fault that ends leases before their time excuses the first.
 */
export function judgeAgainstStore(records: readonly HistoryRecord[]): Broken[] {
  const events = eventsByOwner(records)
  const faults = records.filter(
    (record): record is Of<'fault'> =>
      record.kind === 'fault' && (record.breaks.includes('leases') || record.breaks.includes('timing')),
  )
  const holds = new Map<string, Of<'acquire-return'>>()
  const broken: Broken[] = []
  const isBack = records.some((record) => record.kind === 'fault' && BRINGS_BACK.has(record.cause))
  for (const record of records) {
    if (record.kind === 'loss' && !isBack) broken.push(...judgeLoss(record, holds.get(record.hold), events))
    if (record.kind !== 'acquire-return' && record.kind !== 'renewal') continue
    if (record.kind === 'acquire-return') {
      if (record.outcome !== 'granted') continue
      holds.set(record.id, record)
    }
    const hold = record.kind === 'renewal' ? holds.get(record.hold) : record
    const { owner } = hold ?? {}
    if (hold === undefined || owner === null || owner === undefined) continue
    const before = (events.get(owner) ?? []).filter(({ time }) => time <= record.time)
    broken.push(
      ...judgeDeadline(record, { owner, before, faults }),
      ...(record.kind === 'renewal' ? judgeFence(record, { hold, before }) : []),
    )
  }
  return broken
}

function judgeDeadline(
  record: Told,
  known: { owner: string; before: readonly Of<'store'>[]; faults: readonly Of<'fault'>[] },
): Broken[] {
  const { owner, before, faults } = known
  const last = before.findLast(({ event }) => event !== 'free')
  const first = before[0]
  if (last === undefined || first === undefined || record.deadline === null || last.expires === null)
    return []
  if (record.deadline <= last.expires + READING_MS) return []
  const excused = faults.some(
    ({ subject, from, until }) =>
      (subject === null || subject === record.process) &&
      from <= record.time &&
      (until === null || until >= first.time),
  )
  if (excused) return []
  return [
    {
      invariant: 'INV-T1',
      name: last.name,
      sentence: `${owner} counts on ${(record.deadline - last.expires).toFixed(1)} ms more than the server has given it.`,
      witness: [last, record],
    },
  ]
}

/** Who is told that its lock is gone from the server must not have it there. A later grant of the same owner is another lock. */
function judgeLoss(
  loss: Of<'loss'>,
  hold: Of<'acquire-return'> | undefined,
  events: ReadonlyMap<string, readonly Of<'store'>[]>,
): Broken[] {
  if (!GONE.has(loss.reason) || hold === undefined) return []
  const before = (events.get(hold.owner ?? '') ?? []).filter(({ time }) => time <= loss.time)
  // Taken by force is taken from the owner, also where another copy of its ask got the lock since.
  if (loss.reason === 'forced' && before.some(({ event, cause }) => event === 'free' && cause === 'force'))
    return []
  const last = before.at(-1)
  if (last === undefined || last.event === 'free' || (last.expires ?? Infinity) <= loss.time) return []
  if (!isOfGrant(hold.fence, last.fence)) return []
  return [
    {
      invariant: 'INV-T1',
      name: last.name,
      sentence: `${last.owner} was told that ${last.name} is lost (${loss.reason}) while it stood on the server.`,
      witness: [last, loss],
    },
  ]
}

/**
 * INV-F2 by the server's own order: no write of a grant is accepted after one of a later grant, whatever their fences say. A
 * fence belongs to the last grant that it is not lower than; those that a server gave out that was left behind are not in order.
 */
export function judgeWrites(records: readonly HistoryRecord[], strayOwners: ReadonlySet<string>): Broken[] {
  if (strayOwners.size > 0) return []
  const grants = records.filter(
    (record): record is Of<'store'> => record.kind === 'store' && record.event === 'grant',
  )
  const latest = new Map<string, Of<'store'>>()
  const broken: Broken[] = []
  for (const write of records) {
    if (write.kind !== 'write' || !write.accepted) continue
    const of = grants
      .filter(({ name, fence }) => name === write.resource && fence !== null && fence <= write.fence)
      .reduce<Of<'store'> | null>(
        (best, each) => (best === null || (each.fence ?? 0n) >= (best.fence ?? 0n) ? each : best),
        null,
      )
    if (of === null) continue
    const before = latest.get(write.resource)
    if (before === undefined || of.order >= before.order) {
      latest.set(write.resource, of)
      continue
    }
    const sentence = `A write of ${of.owner} was accepted after one of ${before.owner}, to whom the lock was granted later.`
    broken.push({ invariant: 'INV-F2', name: write.resource, sentence, witness: [of, before, write] })
  }
  return broken
}

/** Whether a hold's fence is the one of a grant of the server, or one of those that were reserved with it. */
function isOfGrant(fence: bigint | null, granted: bigint | null): boolean {
  return fence === null || granted === null || (fence >= granted && fence <= granted + MOST_FENCES)
}

function judgeFence(
  record: Of<'renewal'>,
  { hold, before }: { hold: Of<'acquire-return'>; before: readonly Of<'store'>[] },
): Broken[] {
  const renewed = before.findLast(({ event }) => event === 'renew')
  if (renewed === undefined || isOfGrant(hold.fence, renewed.fence)) return []
  return [
    {
      invariant: 'INV-M1',
      name: renewed.name,
      sentence: `A renewal of the fence ${String(renewed.fence)} was taken for one of the fence ${String(hold.fence)}.`,
      witness: [hold, renewed, record],
    },
  ]
}

function eventsByOwner(records: readonly HistoryRecord[]): Map<string, Of<'store'>[]> {
  const events = new Map<string, Of<'store'>[]>()
  for (const record of records) {
    if (record.kind !== 'store') continue
    const known = events.get(record.owner)
    if (known === undefined) events.set(record.owner, [record])
    else known.push(record)
  }
  return events
}
