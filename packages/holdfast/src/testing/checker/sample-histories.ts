import { driftAllowance } from '../../defaults.ts'
import type { Randomness } from '../../clock.ts'
import { seededRandomness } from '../seeded-randomness.ts'
import { historyRecord } from '../history-codec.ts'
import type { HistoryNote, HistoryRecord } from '../history-record.ts'

// Histories for the checker's own tests. Not part of what is published.

/** Writes a note as a record: `at(12, 'w1', { kind: … })`. */
export function at(time: number, process: string, note: HistoryNote): HistoryRecord {
  return historyRecord({ ...note, time, process })
}

/** A grant as a test tells it. Process, id and owner are one name. */
export interface Told {
  readonly who: string
  /** When it was asked for and when the answer came. */
  readonly asked: number
  readonly granted: number
  readonly fence?: bigint
  readonly owner?: string
  readonly ttl?: number
  readonly deadline?: number
  readonly sent?: number
  readonly renews?: boolean
  /** When release was asked for and when it was answered. */
  readonly release?: readonly [asked: number, answered: number]
  readonly outcome?: 'released' | 'unconfirmed' | 'not-held' | 'unknown' | 'error'
  readonly lost?: number
  readonly process?: string
  readonly name?: string
}

/** The records of one grant. */
export function hold(told: Told): HistoryRecord[] {
  const { who, asked, granted, release, lost, process = who, name = 'lock' } = told
  const { ttl = 1_000, fence, deadline, sent, renews, owner = who } = told
  const records = [
    at(asked, process, {
      kind: 'acquire-call',
      id: who,
      name,
      ttl,
      wait: 5_000,
      budget: 1_000,
      renews: renews ?? null,
    }),
    at(granted, process, {
      kind: 'acquire-return',
      id: who,
      outcome: 'granted',
      owner,
      lease: owner,
      fence: fence ?? null,
      deadline: deadline ?? null,
      sent: sent ?? null,
    }),
  ]
  if (lost !== undefined) records.push(at(lost, process, { kind: 'loss', hold: who, reason: 'expired' }))
  if (release !== undefined) {
    const id = `${who}-release`
    records.push(at(release[0], process, { kind: 'release-call', id, hold: who, budget: 1_000 }))
    records.push(at(release[1], process, { kind: 'release-return', id, outcome: told.outcome ?? 'released' }))
  }
  return records
}

/** How a history is made up. */
export interface Shape {
  readonly seed: number
  readonly grants: number
  readonly processes: number
  readonly fenced: boolean
  /** Whether every record says when its request was sent: then there is one way only to read the history. */
  readonly exact?: boolean
}

const TTL = 1_000
const VALIDITY = TTL - driftAllowance(TTL)

/** What the model made of one grant, so that a test can break it. */
export interface Modelled {
  readonly id: string
  readonly process: string
  readonly returned: number
  /** When its lease ends if nothing is done. */
  readonly expires: number
}

/**
 * The history of a correct mutex: processes that ask, wait, work, release, forget to, lose answers and crash, in times that
 * overlap wherever a mutex lets them.
 */
export function mutexHistory(shape: Shape): { records: HistoryRecord[]; grants: Modelled[] } {
  const model = new MutexModel(shape)
  for (let i = 0; i < shape.grants; i += 1) model.grant()
  return model.end()
}

interface Worker {
  name: string
  idle: number
}

class MutexModel {
  readonly #shape: Shape
  readonly #random: Randomness
  readonly #records: HistoryRecord[] = []
  readonly #grants: Modelled[] = []
  readonly #workers: Worker[]
  #free = 1_000
  #fence = 1_000n
  #written = 0n
  #count = 0

  constructor(shape: Shape) {
    this.#shape = shape
    this.#random = seededRandomness(shape.seed)
    this.#workers = Array.from({ length: shape.processes }, (_worker, at) => ({
      name: `w${at}`,
      idle: 1_000,
    }))
  }

  grant(): void {
    const worker = this.#workers[this.#upTo(this.#workers.length)] as Worker
    const { name: process } = worker
    this.#count += 1
    const id = `${process}-${this.#count}`
    if (this.#chance(0.2)) this.#refused(worker)
    // Whoever has been idle may have waited for long already.
    const asked = worker.idle + this.#some(Math.max(0, this.#free - worker.idle) + 5)
    const granted = Math.max(asked, this.#free) + this.#some(2)
    const sent = Math.max(asked, granted - this.#some(3))
    const returned = granted + this.#some(3)
    const fence = this.#shape.fenced ? this.#nextFence() : null
    this.#add(asked, process, {
      kind: 'acquire-call',
      id,
      name: 'lock',
      ttl: TTL,
      wait: 600_000,
      budget: 1_000,
    })
    this.#add(returned, process, {
      kind: 'acquire-return',
      id,
      outcome: 'granted',
      owner: id,
      lease: id,
      fence,
      deadline: this.#chance(0.5) ? sent + VALIDITY : null,
      sent: this.#shape.exact === true || this.#chance(0.5) ? sent : null,
    })
    this.#work({ worker, id, fence, returned, expires: granted + TTL })
  }

  end(): { records: HistoryRecord[]; grants: Modelled[] } {
    const last = Math.max(this.#free, ...this.#workers.map(({ idle }) => idle)) + 10
    for (const { name } of this.#workers) this.#add(last, name, { kind: 'end' })
    return { records: this.#records, grants: this.#grants }
  }

  #work(held: { worker: Worker; id: string; fence: bigint | null; returned: number; expires: number }): void {
    const { worker, id, fence, returned } = held
    let { expires } = held
    let now = returned + this.#some(50)
    if (this.#chance(0.2)) {
      this.#add(now, worker.name, { kind: 'renewal', hold: id, deadline: now - 1 + VALIDITY, sent: now - 1 })
      expires = now - 1 + TTL
      now += this.#some(300)
    }
    this.#add(now, worker.name, { kind: 'assertion', hold: id, passed: true })
    if (fence !== null) this.#write(worker.name, fence, now)
    this.#grants.push({ id, process: worker.name, returned, expires })
    const end = this.#random.fraction()
    if (end < 0.1) return this.#crash(worker, now, expires)
    if (end < 0.2) return this.#expire(worker, id, expires)
    this.#release(worker, { id, asked: now + this.#some(2), expires })
  }

  #release(worker: Worker, held: { id: string; asked: number; expires: number }): void {
    const { id, asked, expires } = held
    const done = asked + this.#some(3)
    const answered = done + this.#some(3)
    const call = `${id}-release`
    this.#add(asked, worker.name, { kind: 'release-call', id: call, hold: id, budget: 1_000 })
    const lost = this.#chance(0.1)
    const outcome = lost ? 'unknown' : this.#chance(0.1) ? 'unconfirmed' : 'released'
    this.#add(answered, worker.name, { kind: 'release-return', id: call, outcome })
    this.#free = lost && this.#chance(0.5) ? expires : done
    worker.idle = answered + this.#some(5)
  }

  #expire(worker: Worker, id: string, expires: number): void {
    // The holder counts from when it sent, a few milliseconds before the store did.
    const told = expires - driftAllowance(TTL) + this.#some(10)
    this.#add(told, worker.name, { kind: 'loss', hold: id, reason: 'expired' })
    this.#add(told + 1, worker.name, { kind: 'assertion', hold: id, passed: false })
    worker.idle = told + 2
    this.#free = expires
  }

  #crash(worker: Worker, now: number, expires: number): void {
    this.#add(now, 'driver', { kind: 'death', subject: worker.name })
    worker.name = `${worker.name}'`
    worker.idle = now + 5
    this.#free = expires
  }

  #refused(worker: Worker): void {
    const id = `${worker.name}-refused-${this.#count}`
    const asked = worker.idle + this.#some(2)
    const outcome = (['busy', 'timeout', 'error', 'unknown'] as const)[this.#upTo(4)] ?? 'busy'
    this.#add(asked, worker.name, {
      kind: 'acquire-call',
      id,
      name: 'lock',
      ttl: TTL,
      wait: 0,
      budget: 1_000,
    })
    worker.idle = asked + this.#some(5)
    this.#add(worker.idle, worker.name, { kind: 'acquire-return', id, outcome })
  }

  #write(process: string, fence: bigint, time: number): void {
    const accepted = fence >= this.#written
    if (accepted) this.#written = fence
    this.#add(time, process, {
      kind: 'write',
      resource: 'row',
      fence,
      accepted,
      began: time - 0.1,
      order: this.#count,
    })
  }

  #nextFence(): bigint {
    this.#fence += BigInt(1 + this.#upTo(5))
    return this.#fence
  }

  #add(time: number, process: string, note: HistoryNote): void {
    this.#records.push(at(time, process, note))
  }

  #chance(share: number): boolean {
    return this.#random.fraction() < share
  }

  #some(most: number): number {
    return this.#random.fraction() * most
  }

  #upTo(count: number): number {
    return Math.floor(this.#random.fraction() * count)
  }
}
