import type { Lease, LockTables, Pushes } from '../../store/lock-rules.ts'
import type { QueueEntry } from '../../store/wait-queue.ts'
import type { LockRow } from './port.ts'
import type { SqlSpace } from './space.ts'

const NO_ROW: LockRow = { owner: null, fence: 0, trace: null, expires: 0, last: 0 }

/**
 * The tables of one lock within a transaction. A name has one row, which keeps its last fence as well: locks of different
 * names never wait for each other. The queue lies under the lock's own key, so that the row's lock guards it, too.
 */
export class SqlLockTables implements LockTables, Pushes {
  readonly now: number
  readonly nowMicros: number
  readonly #space: SqlSpace
  readonly #key: string

  constructor(space: SqlSpace, key: string) {
    this.now = space.now
    this.nowMicros = space.nowMicros
    this.#space = space
    this.#key = key
  }

  lease(): Lease | null {
    const { owner, fence, trace, expires } = this.#row
    return owner === null ? null : { owner, fence, trace, expires }
  }

  setLease(_key: string, lease: Lease): void {
    this.#space.setLock(this.#key, { ...this.#row, ...lease })
  }

  dropLease(): void {
    this.#space.setLock(this.#key, { ...this.#row, owner: null, trace: null })
  }

  lastFence(): number {
    return this.#row.last
  }

  setLastFence(_fenceKey: string, last: number): void {
    this.#space.setLock(this.#key, { ...this.#row, last })
  }

  waiters(): readonly QueueEntry[] {
    return this.#space.waiters(this.#key)
  }

  setWaiter(_queueKey: string, entry: QueueEntry): void {
    this.#space.changeWaiter(this.#key, entry.process, entry)
  }

  dropWaiter(_queueKey: string, process: string): void {
    this.#space.changeWaiter(this.#key, process, null)
  }

  wake(process: string, key: string): void {
    this.#space.push({ word: 'free', process, key })
  }

  forced(process: string, key: string, owner: string): void {
    this.#space.push({ word: 'forced', process, key, owner })
  }

  get #row(): LockRow {
    return this.#space.lock(this.#key) ?? NO_ROW
  }
}
