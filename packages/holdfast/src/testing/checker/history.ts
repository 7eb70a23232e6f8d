import { driftAllowance } from '../../defaults.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type {
  AcquireCall,
  AcquireReturn,
  Assertion,
  Assumption,
  Fault,
  GuardedWrite,
  HistoryRecord,
  KeySeen,
  Leak,
  Loss,
  OtherCall,
  OtherReturn,
  ReleaseCall,
  ReleaseReturn,
  Renewal,
  Stop,
  StoreEvent,
} from '../history-record.ts'

/** A release and how it ended; `null` when that was not seen. */
export interface Release {
  readonly call: ReleaseCall
  returned: ReleaseReturn | null
}

/** An acquire and all that followed from it. */
export interface Acquire {
  readonly id: string
  readonly name: string
  readonly process: string
  readonly call: AcquireCall
  returned: AcquireReturn | null
  readonly renewals: Renewal[]
  loss: Loss | null
  readonly assertions: Assertion[]
  readonly releases: Release[]
}

/** An acquire that was granted. */
export type Grant = Acquire & { readonly returned: AcquireReturn & { readonly outcome: 'granted' } }

/** Any other call and how it ended. */
export interface Call {
  readonly call: OtherCall
  returned: OtherReturn | null
}

/** How long a process is known to have lived. */
export interface Life {
  /** The last record that it wrote itself. */
  last: HistoryRecord
  /** When it was killed. */
  death: number | null
}

/** A history made ready for judging: in the order of time, and what belongs together joined. */
export interface History {
  readonly records: readonly HistoryRecord[]
  readonly acquires: readonly Acquire[]
  /** The granted ones by name, in the order in which they were granted to their callers. */
  readonly grants: ReadonlyMap<string, readonly Grant[]>
  readonly calls: readonly Call[]
  readonly lives: ReadonlyMap<string, Life>
  readonly stops: ReadonlyMap<string, readonly Stop[]>
  readonly faults: readonly Fault[]
  readonly keys: readonly KeySeen[]
  readonly writes: readonly GuardedWrite[]
  readonly leaks: readonly Leak[]
  readonly storeEvents: ReadonlyMap<string, readonly StoreEvent[]>
}

/**
 * Joins records to a history.
 *
 * @throws InvalidArgumentError when they are none: a return without its call, an id used twice
 */
export function historyOf(unordered: readonly HistoryRecord[]): History {
  const reader = new HistoryReader([...unordered].sort((one, other) => one.time - other.time))
  return reader.read()
}

class HistoryReader {
  readonly #records: readonly HistoryRecord[]
  readonly #acquires = new Map<string, Acquire>()
  readonly #releases = new Map<string, Release>()
  readonly #calls = new Map<string, Call>()
  readonly #grants = new Map<string, Grant[]>()
  readonly #lives = new Map<string, Life>()
  readonly #stops = new Map<string, Stop[]>()
  readonly #storeEvents = new Map<string, StoreEvent[]>()
  readonly #faults: Fault[] = []
  readonly #keys: KeySeen[] = []
  readonly #writes: GuardedWrite[] = []
  readonly #leaks: Leak[] = []

  constructor(records: readonly HistoryRecord[]) {
    this.#records = records
  }

  read(): History {
    for (const record of this.#records) {
      this.#live(record)
      this.#take(record)
    }
    for (const events of this.#storeEvents.values()) events.sort((one, other) => one.order - other.order)
    return {
      records: this.#records,
      acquires: [...this.#acquires.values()],
      grants: this.#grants,
      calls: [...this.#calls.values()],
      lives: this.#lives,
      stops: this.#stops,
      faults: this.#faults,
      keys: this.#keys,
      writes: this.#writes,
      leaks: this.#leaks,
      storeEvents: this.#storeEvents,
    }
  }

  #live(record: HistoryRecord): void {
    const life = this.#lives.get(record.process)
    if (life === undefined) this.#lives.set(record.process, { last: record, death: null })
    else life.last = record
  }

  #take(record: HistoryRecord): void {
    switch (record.kind) {
      case 'acquire-call':
        return this.#acquireCalled(record)
      case 'acquire-return':
        return this.#acquireReturned(record)
      case 'renewal':
        this.#acquireOf(record).renewals.push(record)
        return
      case 'loss':
        this.#acquireOf(record).loss ??= record
        return
      case 'assertion':
        this.#acquireOf(record).assertions.push(record)
        return
      case 'release-call':
        return this.#releaseCalled(record)
      case 'release-return':
        known(this.#releases, record, record.id).returned = record
        return
      case 'call':
        this.#calls.set(unused(this.#calls, record), { call: record, returned: null })
        return
      case 'return':
        known(this.#calls, record, record.id).returned = record
        return
      case 'stop':
        push(this.#stops, record.subject, record)
        return
      case 'store':
        push(this.#storeEvents, record.name, record)
        return
      case 'death':
        this.#died(record.subject, record)
        return
      case 'fault':
        this.#faults.push(record)
        return
      case 'key':
        this.#keys.push(record)
        return
      case 'write':
        this.#writes.push(record)
        return
      case 'leak':
        this.#leaks.push(record)
        return
      case 'end':
        return
    }
  }

  #acquireCalled(call: AcquireCall): void {
    this.#acquires.set(unused(this.#acquires, call), {
      id: call.id,
      name: call.name,
      process: call.process,
      call,
      returned: null,
      renewals: [],
      loss: null,
      assertions: [],
      releases: [],
    })
  }

  #acquireReturned(record: AcquireReturn): void {
    const acquire = known(this.#acquires, record, record.id)
    if (acquire.returned !== null) throw malformed(record, 'is a second return of one acquire')
    acquire.returned = record
    if (record.outcome === 'granted') push(this.#grants, acquire.name, acquire as Grant)
  }

  #acquireOf(record: Renewal | Loss | Assertion | ReleaseCall): Acquire {
    return known(this.#acquires, record, record.hold)
  }

  #releaseCalled(call: ReleaseCall): void {
    const release = { call, returned: null }
    this.#releases.set(unused(this.#releases, call), release)
    this.#acquireOf(call).releases.push(release)
  }

  #died(subject: string, record: HistoryRecord): void {
    const life = this.#lives.get(subject)
    if (life === undefined) this.#lives.set(subject, { last: record, death: record.time })
    else life.death ??= record.time
  }
}

function push<V>(map: Map<string, V[]>, key: string, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}

function known<V>(map: ReadonlyMap<string, V>, record: HistoryRecord, id: string): V {
  const value = map.get(id)
  if (value === undefined) throw malformed(record, `speaks of ${id}, of which no call came before`)
  return value
}

function unused(map: ReadonlyMap<string, unknown>, record: AcquireCall | ReleaseCall | OtherCall): string {
  if (map.has(record.id)) throw malformed(record, `has the id ${record.id}, which another call has`)
  return record.id
}

function malformed(record: HistoryRecord, problem: string): InvalidArgumentError {
  return new InvalidArgumentError('records', `${record.kind} by ${record.process} at ${record.time}`, {
    problem,
    remedy: 'Give whole histories, in which every process has a name of its own.',
  })
}

/** The fault's time has a moment in common with [from, until]. */
export function touches(span: { from: number; until: number | null }, from: number, until: number): boolean {
  return span.from <= until && (span.until === null || span.until >= from)
}

/** The faults that break one of `breaks` for a lock or for one of the processes (all, where `null`). */
export function faultsOf(
  history: History,
  about: { name: string; processes: readonly string[] | null; breaks: readonly Assumption[] },
): Fault[] {
  return history.faults.filter(
    ({ name, subject, breaks }) =>
      (name === null || name === about.name) &&
      (subject === null || about.processes === null || about.processes.includes(subject)) &&
      breaks.some((assumption) => about.breaks.includes(assumption)),
  )
}

/**
 * A bound on when something must have happened, put off by spans in which it could not: one that began by then and ended
 * later moves the bound to `slack` after its end. Infinite when a span did not end.
 */
export function putOff<S extends { readonly from: number; readonly until: number | null }>(
  bound: number,
  spans: readonly S[],
  slack: number,
): { bound: number; by: S[] } {
  const by: S[] = []
  let end = bound
  for (const span of [...spans].sort((one, other) => one.from - other.from)) {
    const after = (span.until ?? Infinity) + slack
    if (span.from > end || after <= end) continue
    end = after
    by.push(span)
  }
  return { bound: end, by }
}

/**
 * The latest moment up to which a holder may rightly believe to hold, with the record that says so; `null` when it never
 * ends. What the holder says itself counts only within what its lease allows.
 */
export function lastDeadline(grant: Grant): { time: number; from: AcquireReturn | Renewal } | null {
  const first = deadlineIn(grant.returned, grant.call.ttl)
  if (first === null) return null
  let last: { time: number; from: AcquireReturn | Renewal } = { time: first, from: grant.returned }
  if (grant.call.renews === false) return last
  for (const renewal of grant.renewals) {
    const time = deadlineIn(renewal, renewal.ttl ?? grant.call.ttl)
    if (time !== null && time > last.time) last = { time, from: renewal }
  }
  return last
}

function deadlineIn(record: AcquireReturn | Renewal, ttl: number | null): number | null {
  if (ttl === null) return record.deadline
  const validity = ttl - driftAllowance(ttl)
  if (record.sent !== null) return record.sent + validity
  // It was sent before this was written, so whatever the holder says, it ends by then.
  return Math.min(record.deadline ?? Infinity, record.time + validity)
}

/**
 * The earliest moment at which the store may rightly end the lease by itself; infinite when it never does. `renewed`: the
 * renewals count, else only the grant.
 */
export function earliestExpiry(grant: Grant, renewed: boolean): number {
  const { call, returned, renewals } = grant
  if (call.ttl === null && returned.deadline === null) return Infinity
  let earliest = call.ttl === null ? -Infinity : (returned.sent ?? call.time) + call.ttl - driftAllowance(call.ttl)
  if (returned.deadline !== null) earliest = Math.max(earliest, deadlineIn(returned, call.ttl) ?? -Infinity)
  if (!renewed || call.renews === false) return earliest
  for (const renewal of renewals) {
    if (renewal.deadline === null && renewal.sent === null) continue
    earliest = Math.max(earliest, deadlineIn(renewal, renewal.ttl ?? call.ttl) ?? -Infinity)
  }
  return earliest
}

/** When the caller ceased to believe that it holds, and the record that says so; its last sign of life when nothing does. */
export function beliefEnd(history: History, grant: Grant): { time: number; record: HistoryRecord | null } {
  const asked = grant.releases[0]?.call ?? null
  const ends = [grant.loss, asked].filter((record) => record !== null)
  const first = ends.sort((one, other) => one.time - other.time)[0]
  if (first !== undefined) return { time: first.time, record: first }
  const life = history.lives.get(grant.process)
  return { time: life?.death ?? life?.last.time ?? grant.returned.time, record: null }
}

/** The owner, or where none was told, who asked. */
export function ownerOf(grant: Grant): string {
  return grant.returned.owner ?? grant.process
}
