import { InvalidArgumentError } from '../../errors.ts'
import type {
  AcquireCall,
  AcquireReturn,
  Assertion,
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

/** Adds to the list at a key. */
export function push<V>(map: Map<string, V[]>, key: string, value: V): void {
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
