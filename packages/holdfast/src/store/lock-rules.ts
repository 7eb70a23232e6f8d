import { bounds } from '../defaults.ts'
import type { LockAddress } from '../name.ts'
import type {
  AcquireAsk,
  AcquireResult,
  ForceResult,
  Holder,
  LockRecord,
  OwnerAsk,
  QueueManners,
  RaiseAsk,
  RaiseResult,
  ReleaseResult,
  RenewAsk,
  RenewResult,
} from './contract.ts'
import { StoreFailure } from './failure.ts'
import { MAX_FENCE, nextFence, RESERVED_LEAD_MICROS } from './fence.ts'
import { processOf } from './owner.ts'
import { beatOf, isDead, nextToWake, type QueueEntry } from './wait-queue.ts'

/** A lock as a store keeps it. It is over when `expires` is reached, whether or not the entry is still there. */
export interface Lease {
  readonly owner: string
  readonly fence: number
  readonly trace: string | null
  /** The store's milliseconds. */
  readonly expires: number
}

/**
 * What a store offers within one atomic step. Nobody else sees or changes anything between the first call and the last, and
 * either all changes stay or none.
 */
export interface LockTables {
  /** The store's clock, read once for the step: whole milliseconds since 1970, and whole microseconds. */
  readonly now: number
  readonly nowMicros: number
  /** The lease at a key, also one that is over. */
  lease(key: string): Lease | null
  setLease(key: string, lease: Lease): void
  dropLease(key: string): void
  /** The last fence; 0 when none is known. */
  lastFence(fenceKey: string): number
  setLastFence(fenceKey: string, fence: number): void
  waiters(queueKey: string): readonly QueueEntry[]
  setWaiter(queueKey: string, entry: QueueEntry): void
  dropWaiter(queueKey: string, process: string): void
}

/** How a store tells its processes something. A store that cannot has none, and then nobody is woken. */
export interface Pushes {
  wake(process: string, key: string): void
  forced(process: string, key: string, owner: string): void
}

/**
 * What the calls of a lock store do, written once for stores whose state can be read and changed in one synchronous step.
 * One of them stands for one process.
 */
export class LockRules {
  readonly #tables: LockTables
  readonly #process: string
  readonly #pushes: Pushes | null

  constructor(tables: LockTables, process: string, pushes: Pushes | null) {
    this.#tables = tables
    this.#process = process
    this.#pushes = pushes
  }

  acquire({ address, owner, trace, ttl, queue, reserve = 0 }: AcquireAsk, late: boolean): AcquireResult {
    if (late) return { kind: 'late' }
    const lease = this.#living(address.key)
    if (lease?.owner === owner) {
      this.#prolong(address.key, lease, ttl)
      if (queue.stands) this.#tables.dropWaiter(address.queueKey, this.#process)
      return { kind: 'granted', fence: BigInt(lease.fence), again: true }
    }
    if (lease !== null) return this.#busy(address, this.#holder(lease), queue)
    if (queue.yield && this.#others(address.queueKey).length > 0) return this.#busy(address, null, queue)
    const { fence, reserved } = this.#takeFences(address, reserve)
    this.#tables.setLease(address.key, { owner, fence, trace, expires: this.#tables.now + ttl })
    if (queue.stands) this.#tables.dropWaiter(address.queueKey, this.#process)
    const granted = { kind: 'granted', fence: BigInt(fence), again: false } as const
    return reserved > 0 ? { ...granted, reserved } : granted
  }

  release({ address, owner }: OwnerAsk): ReleaseResult {
    const lease = this.#living(address.key)
    if (lease === null) return { kind: 'missing' }
    if (lease.owner !== owner) return { kind: 'other', holder: this.#holder(lease) }
    this.#tables.dropLease(address.key)
    return { kind: 'released', wokeOther: this.#wakeNext(address) }
  }

  renew({ address, owner, fence, ttl }: RenewAsk, late: boolean): RenewResult {
    if (late) return { kind: 'late' }
    const lease = this.#living(address.key)
    if (lease === null) return { kind: 'missing' }
    if (lease.owner !== owner || BigInt(lease.fence) !== fence)
      return { kind: 'other', holder: this.#holder(lease) }
    this.#prolong(address.key, lease, ttl)
    return { kind: 'renewed' }
  }

  leave(address: LockAddress): null {
    this.#tables.dropWaiter(address.queueKey, this.#process)
    if (this.#living(address.key) === null) this.#wakeNext(address)
    return null
  }

  inspect(address: LockAddress): LockRecord | null {
    const lease = this.#tables.lease(address.key)
    if (lease === null || this.#isOver(lease)) return null
    const waiters = this.#tables.waiters(address.queueKey).filter((entry) => !isDead(entry, this.#tables.now))
    return { ...this.#holder(lease), waiters: waiters.length }
  }

  force({ address, owner }: OwnerAsk): ForceResult {
    const lease = this.#living(address.key)
    if (lease === null) return { kind: 'missing' }
    if (lease.owner !== owner) return { kind: 'other', holder: this.#holder(lease) }
    const { fence } = this.#takeFences(address, 0)
    this.#tables.dropLease(address.key)
    const holder = processOf(owner)
    if (holder !== null) this.#pushes?.forced(holder, address.key, owner)
    this.#wakeNext(address)
    return { kind: 'forced', fence: BigInt(fence) }
  }

  raise({ address, owner, fence }: RaiseAsk): RaiseResult {
    const lease = this.#living(address.key)
    if (lease === null) return { kind: 'missing' }
    if (lease.owner !== owner) return { kind: 'other', holder: this.#holder(lease) }
    if (BigInt(lease.fence) > fence) return { kind: 'higher', fence: BigInt(lease.fence) }
    const last = this.#tables.lastFence(address.fenceKey)
    if (fence >= BigInt(MAX_FENCE)) throw noFenceLeft(address.fenceKey, last)
    if (BigInt(last) < fence) this.#tables.setLastFence(address.fenceKey, Number(fence))
    return { kind: 'raised' }
  }

  #isOver(lease: Lease): boolean {
    return lease.expires <= this.#tables.now
  }

  /** The lease at a key; one that is over is cleared away. */
  #living(key: string): Lease | null {
    const lease = this.#tables.lease(key)
    if (lease === null || !this.#isOver(lease)) return lease
    this.#tables.dropLease(key)
    return null
  }

  #holder(lease: Lease): Holder {
    return { owner: lease.owner, fence: BigInt(lease.fence), remaining: lease.expires - this.#tables.now }
  }

  #prolong(key: string, lease: Lease, ttl: number): void {
    const expires = this.#tables.now + ttl
    if (expires > lease.expires) this.#tables.setLease(key, { ...lease, expires })
  }

  /**
   * Takes the next fence, and as many more as are wanted and leave the last one at most a moment ahead of the clock. The last
   * of them is written down before anything is granted.
   */
  #takeFences({ fenceKey }: LockAddress, wanted: number): { fence: number; reserved: number } {
    const { nowMicros } = this.#tables
    const last = this.#tables.lastFence(fenceKey)
    const fence = nextFence(last, nowMicros)
    const reserved = Math.max(0, Math.min(wanted, nowMicros + RESERVED_LEAD_MICROS - fence))
    if (fence + reserved >= MAX_FENCE) throw noFenceLeft(fenceKey, last)
    this.#tables.setLastFence(fenceKey, fence + reserved)
    return { fence, reserved }
  }

  #busy(address: LockAddress, holder: Holder | null, queue: QueueManners): AcquireResult {
    if (queue.join) this.#join(address.queueKey)
    return { kind: 'busy', holder }
  }

  #join(queueKey: string): void {
    const entries = this.#livingWaiters(queueKey)
    const own = entries.find((entry) => entry.process === this.#process) ?? null
    const highest = entries.reduce((place, entry) => Math.max(place, entry.place), 0)
    const entry = beatOf(own, highest, this.#process, this.#tables.now)
    if (entry !== null) this.#tables.setWaiter(queueKey, entry)
  }

  /** Who stands in a queue. The dead are cleared away, and a sign of life in the future counts as one of now. */
  #livingWaiters(queueKey: string): readonly QueueEntry[] {
    const { now } = this.#tables
    const living: QueueEntry[] = []
    for (const entry of this.#tables.waiters(queueKey)) {
      if (isDead(entry, now)) {
        this.#tables.dropWaiter(queueKey, entry.process)
      } else if (entry.beat > now) {
        const mended = { ...entry, beat: now }
        this.#tables.setWaiter(queueKey, mended)
        living.push(mended)
      } else {
        living.push(entry)
      }
    }
    return living
  }

  #others(queueKey: string): readonly QueueEntry[] {
    return this.#livingWaiters(queueKey).filter((entry) => entry.process !== this.#process)
  }

  /**
   * Without wake-ups a lock that is given back stands idle until a waiter asks again, so its process may go on at once. But
   * not for ever: when another process has stood for long enough, it is its turn.
   */
  #isOthersTurn(queueKey: string): boolean {
    return this.#others(queueKey).some((entry) => this.#tables.now - entry.place > bounds.patience)
  }

  #wakeNext({ key, queueKey }: LockAddress): boolean {
    if (this.#pushes === null) return this.#isOthersTurn(queueKey)
    const next = nextToWake(this.#livingWaiters(queueKey), this.#process)
    if (next === null) return false
    this.#tables.setWaiter(queueKey, { ...next, woken: true })
    this.#pushes.wake(next.process, key)
    return true
  }
}

function noFenceLeft(fenceKey: string, last: number): StoreFailure {
  return new StoreFailure(`the last fence ${last} leaves no room below 2^53`, {
    kind: 'refused',
    outcome: 'not-done',
    final: true,
    reason: 'FENCELIMIT',
    remedy: `The last fence under "${fenceKey}" was set by hand or by a broken clock. Remove it.`,
  })
}
