import type { QueueEntry } from '../../store/wait-queue.ts'
import type { LockRow, SqlChanges, SqlFound, SqlPush, TextRow, WaiterChange } from './port.ts'

/**
 * What one transaction has read, and what it is going to write. The rules of all primitives work on it in synchronous steps,
 * one operation after another; the database has the rows locked meanwhile.
 */
export class SqlSpace {
  /** The database's clock: whole microseconds and milliseconds since 1970. */
  readonly nowMicros: number
  readonly now: number
  readonly #found: SqlFound
  readonly #locks = new Map<string, LockRow>()
  readonly #waiters = new Map<string, Map<string, QueueEntry | null>>()
  readonly #texts = new Map<string, TextRow | null>()
  readonly #replies = new Map<string, TextRow>()
  readonly #pushes: SqlPush[] = []

  constructor(found: SqlFound) {
    this.#found = found
    this.nowMicros = found.nowMicros
    this.now = Math.floor(found.nowMicros / 1_000)
  }

  lock(key: string): LockRow | null {
    return this.#locks.get(key) ?? this.#found.locks.get(key) ?? null
  }

  setLock(key: string, row: LockRow): void {
    this.#locks.set(key, row)
  }

  waiters(key: string): readonly QueueEntry[] {
    const found = this.#found.waiters.get(key) ?? []
    const changed = this.#waiters.get(key)
    if (changed === undefined) return found
    const kept = found.filter(({ process }) => !changed.has(process))
    return [...kept, ...[...changed.values()].filter((entry) => entry !== null)]
  }

  changeWaiter(key: string, process: string, entry: QueueEntry | null): void {
    if (entry === null && !this.waiters(key).some((waiter) => waiter.process === process)) return
    const changed = this.#waiters.get(key) ?? new Map<string, QueueEntry | null>()
    this.#waiters.set(key, changed.set(process, entry))
  }

  /** `null` when there is none, or it is over. */
  text(key: string): TextRow | null {
    const changed = this.#texts.get(key)
    return changed === undefined ? this.#living(this.#found.texts.get(key)) : changed
  }

  setText(key: string, row: TextRow | null): void {
    this.#texts.set(key, row)
  }

  reply(id: string): TextRow | null {
    return this.#replies.get(id) ?? this.#living(this.#found.replies.get(id))
  }

  setReply(id: string, row: TextRow): void {
    this.#replies.set(id, row)
  }

  push(push: SqlPush): void {
    this.#pushes.push(push)
  }

  /** `null` when there is nothing to write. */
  changes(): SqlChanges | null {
    const waiters: WaiterChange[] = []
    for (const [key, changed] of this.#waiters) {
      for (const [process, entry] of changed) waiters.push({ key, process, entry })
    }
    const [locks, texts, replies, pushes] = [this.#locks, this.#texts, this.#replies, this.#pushes]
    const written = locks.size + waiters.length + texts.size + replies.size + pushes.length
    return written === 0 ? null : { locks, waiters, texts, replies, pushes }
  }

  #living(row: TextRow | undefined): TextRow | null {
    return row === undefined || row.expires <= this.now ? null : row
  }
}
