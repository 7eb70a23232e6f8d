import type { Clock } from '../../clock.ts'
import { isDead, type QueueEntry } from '../../store/wait-queue.ts'
import type { Lease, LockTables } from '../../store/lock-rules.ts'

/** Entries looked at, and cleared away when they are over, for each one that is written. */
const SWEPT_PER_WRITE = 3

type Queue = Map<string, QueueEntry>

/**
 * The state of a memory store, and its clock: the wall clock read once, carried on by the monotonic one. Steps of the wall
 * clock change nothing.
 *
 * Nothing is cleared away by timers. Each write clears a few entries that are over, so that what is kept stays in proportion
 * to what is in use.
 */
export class MemoryTables implements LockTables {
  now = 0
  nowMicros = 0
  readonly #clock: Clock
  readonly #startWall: number
  readonly #startMonotonic: number
  readonly #leases = new Map<string, Lease>()
  readonly #queues = new Map<string, Queue>()
  readonly #lastFences = new Map<string, number>()
  #leaseSweep = this.#leases.entries()
  #queueSweep = this.#queues.entries()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#startWall = clock.wall()
    this.#startMonotonic = clock.monotonic()
  }

  /** Reads the clock for the step that begins now. */
  begin(): this {
    const exact = this.#startWall + (this.#clock.monotonic() - this.#startMonotonic)
    this.nowMicros = Math.floor(exact * 1_000)
    this.now = Math.floor(exact)
    return this
  }

  /** What is kept, in entries. */
  get size(): { leases: number; queues: number; fences: number } {
    return { leases: this.#leases.size, queues: this.#queues.size, fences: this.#lastFences.size }
  }

  lease(key: string): Lease | null {
    return this.#leases.get(key) ?? null
  }

  setLease(key: string, lease: Lease): void {
    this.#leases.set(key, lease)
    this.#sweepLeases()
  }

  dropLease(key: string): void {
    this.#leases.delete(key)
  }

  lastFence(fenceKey: string): number {
    return this.#lastFences.get(fenceKey) ?? 0
  }

  setLastFence(fenceKey: string, fence: number): void {
    this.#lastFences.set(fenceKey, fence)
  }

  waiters(queueKey: string): readonly QueueEntry[] {
    const queue = this.#queues.get(queueKey)
    return queue === undefined ? [] : [...queue.values()]
  }

  setWaiter(queueKey: string, entry: QueueEntry): void {
    let queue = this.#queues.get(queueKey)
    if (queue === undefined) this.#queues.set(queueKey, (queue = new Map<string, QueueEntry>()))
    queue.set(entry.process, entry)
    this.#sweepQueues()
  }

  dropWaiter(queueKey: string, process: string): void {
    const queue = this.#queues.get(queueKey)
    queue?.delete(process)
    if (queue?.size === 0) this.#queues.delete(queueKey)
  }

  // The iterators of a Map stay valid while it changes: a sweep goes on where the last one ended.
  #sweepLeases(): void {
    for (let i = 0; i < SWEPT_PER_WRITE; i += 1) {
      const next = this.#leaseSweep.next()
      if (next.done === true) {
        this.#leaseSweep = this.#leases.entries()
        return
      }
      const [key, lease] = next.value
      if (lease.expires <= this.now) this.#leases.delete(key)
    }
  }

  #sweepQueues(): void {
    for (let i = 0; i < SWEPT_PER_WRITE; i += 1) {
      const next = this.#queueSweep.next()
      if (next.done === true) {
        this.#queueSweep = this.#queues.entries()
        return
      }
      const [key, queue] = next.value
      for (const entry of queue.values()) if (isDead(entry, this.now)) this.dropWaiter(key, entry.process)
    }
  }
}
