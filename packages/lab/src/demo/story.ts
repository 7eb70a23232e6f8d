/** Reads a log of what happened and finds the accidents in it. Pure. */

import type { Span } from './columns.ts'
import type { Entry } from './log.ts'

/** One holder at work. Times in milliseconds of the log's clock. */
export interface Hold {
  readonly lane: string
  readonly who: number
  readonly from: number
  readonly to: number
  /** When its lock was over while it was still at work, and why; `null` when it lasted. */
  readonly lockEnd: { readonly at: number; readonly why: 'expired' | 'deleted' } | null
}

/** Something that happened in one moment. */
export interface Mark {
  readonly at: number
  readonly lane: string
  readonly who: number
  readonly kind: 'expiry' | 'foreign-delete' | 'refused' | 'told' | 'charge'
}

export interface Story {
  readonly holds: readonly Hold[]
  readonly marks: readonly Mark[]
  /** While somebody asked for the lock and had not got it; only where that was noted. */
  readonly waits: readonly (Span & { readonly lane: string })[]
  /** While two or more were at work. */
  readonly doubleHolds: readonly Span[]
  /** How many came in while another was at work. */
  readonly intruders: number
}

type Own = { -readonly [K in keyof Hold]: Hold[K] } & { leaseEnd: number | null }

/** @param log in the order of its times */
export function tellStory(log: readonly Entry[]): Story {
  const holds = holdsIn(log)
  const foreign = foreignDeletes(log)
  for (const { at, victim } of foreign) endByDelete(holds, victim, at)
  const expiries = holds.filter((hold) => hold.lockEnd?.why === 'expired')
  const marks: Mark[] = [
    ...expiries.map((hold) => ({ ...whose(hold), at: hold.lockEnd?.at as number, kind: 'expiry' as const })),
    ...foreign.map((each) => ({ ...whose(each), at: each.at, kind: 'foreign-delete' as const })),
    ...pick(log, 'refused', 'refused'),
    ...pick(log, 'told', 'told'),
    ...pick(log, 'charges', 'charge'),
  ]
  return { holds, marks: marks.sort((a, b) => a.at - b.at), waits: waitsIn(log), ...overlaps(holds) }
}

function whose({ lane, who }: { lane: string; who: number }): { lane: string; who: number } {
  return { lane, who }
}

function pick(log: readonly Entry[], what: Entry['what'], kind: Mark['kind']): Mark[] {
  return log.filter((entry) => entry.what === what).map((entry) => ({ ...whose(entry), at: entry.at, kind }))
}

/** Everybody's entries by themselves, in order. */
function byPerson(log: readonly Entry[]): Entry[][] {
  const people = new Map<string, Entry[]>()
  for (const entry of log) {
    const person = `${entry.lane} ${entry.who}`
    people.set(person, [...(people.get(person) ?? []), entry])
  }
  return [...people.values()]
}

function holdsIn(log: readonly Entry[]): Own[] {
  return byPerson(log)
    .flatMap(holdsOf)
    .sort((a, b) => a.from - b.from)
}

/** The holds of one person. */
function holdsOf(entries: readonly Entry[]): Own[] {
  const holds: Own[] = []
  let leaseEnd: number | null = null
  for (const entry of entries) {
    const last = holds.at(-1)
    if (entry.what === 'granted') leaseEnd = entry.ttl === null ? null : entry.at + entry.ttl
    else if (entry.what === 'expiry-set') leaseEnd = entry.at + entry.ttl
    else if (entry.what === 'enters') {
      const { at } = entry
      holds.push({ ...whose(entry), from: at, to: at, lockEnd: null, leaseEnd })
      leaseEnd = null
    } else if (last === undefined) continue
    else if (entry.what === 'blocked' && entry.leaseLeft !== null) last.leaseEnd = entry.at + entry.leaseLeft
    else if (entry.what === 'leaves') leave(last, entry.at)
    else if (entry.what === 'told') tell(last, entry.at)
  }
  return holds
}

function leave(hold: Own, at: number): void {
  hold.to = at
  if (hold.leaseEnd !== null && hold.leaseEnd < at) hold.lockEnd = { at: hold.leaseEnd, why: 'expired' }
}

/** When a renewed lock ended is known from what was left of it before its holder stood still, or else from the news. */
function tell(hold: Own, at: number): void {
  hold.lockEnd = { at: Math.min(hold.leaseEnd ?? at, at, hold.to), why: 'expired' }
}

interface ForeignDelete {
  readonly at: number
  readonly lane: string
  readonly who: number
  readonly victim: Entry
}

/**
 * A DEL that found something after another had been granted the lock was a DEL of that one's lock. Grants are noted when
 * their answer came, so this misses some and never invents one.
 */
function foreignDeletes(log: readonly Entry[]): ForeignDelete[] {
  const grants = log.filter((entry) => entry.what === 'granted')
  const found: ForeignDelete[] = []
  for (const entry of log) {
    if (entry.what !== 'deleted' || !entry.found) continue
    const victim = grants.findLast((grant) => grant.at < entry.sent)
    if (victim === undefined || (victim.lane === entry.lane && victim.who === entry.who)) continue
    found.push({ ...whose(entry), at: entry.at, victim })
  }
  return found
}

function endByDelete(holds: readonly Own[], victim: Entry, at: number): void {
  const hold = holds.find(({ lane, who, to }) => lane === victim.lane && who === victim.who && to > victim.at)
  if (hold === undefined || hold.to <= at || (hold.lockEnd?.at ?? Infinity) <= at) return
  hold.lockEnd = { at, why: 'deleted' }
}

function waitsIn(log: readonly Entry[]): (Span & { lane: string })[] {
  return byPerson(log).flatMap((entries) => {
    const from = entries.find(({ what }) => what === 'waits')
    const to = entries.find(({ what }) => what === 'enters') ?? entries.at(-1)
    return from === undefined || to === undefined ? [] : [{ lane: from.lane, from: from.at, to: to.at }]
  })
}

/** Sweeps over all comings and goings. Who goes in the very moment in which another comes does not meet it. */
function overlaps(holds: readonly Hold[]): { doubleHolds: Span[]; intruders: number } {
  const steps = holds
    .flatMap((hold) => [
      { at: hold.from, by: 1 },
      { at: hold.to, by: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.by - b.by)
  const doubleHolds: Span[] = []
  let inside = 0
  let intruders = 0
  let since = 0
  for (const { at, by } of steps) {
    if (by === 1 && inside >= 1) intruders += 1
    if (by === 1 && inside === 1) since = at
    inside += by
    if (by === -1 && inside === 1) doubleHolds.push({ from: since, to: at })
  }
  return { doubleHolds, intruders }
}
