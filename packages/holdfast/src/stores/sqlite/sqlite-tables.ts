import type { Lease, LockTables } from '../../store/lock-rules.ts'
import { isDead, type QueueEntry } from '../../store/wait-queue.ts'
import type { SqliteDatabase, SqliteStatement } from './database.ts'
import { SqliteLimitTables } from './sqlite-limit-tables.ts'
import { SqliteOnceTables } from './sqlite-once-tables.ts'

/** Rows looked at, and removed when they are over, for each one that is written. */
const SWEPT_PER_WRITE = 2

/**
 * The machine's clock, in whole milliseconds since 1970. `unixepoch('subsec')` would be plainer, but older libraries do not know it.
 */
export const CLOCK = "SELECT CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) AS now"

/** Numbers come as bigint when the connection was set up so. */
type Numeric = number | bigint

interface LeaseRow {
  readonly key: string
  readonly owner: string
  readonly fence: Numeric
  readonly trace: string | null
  readonly expires_at: Numeric
}

interface WaiterRow {
  readonly key: string
  readonly process: string
  readonly place: Numeric
  readonly beat: Numeric
}

/**
 * Our tables in a database, over prepared statements. To be used inside one transaction at a time, which begins with
 * `begin` and ends with `sweep`.
 *
 * The clock is the database's own, that is the machine's, to the millisecond. Nothing is swept by timers: what was written
 * in a transaction pays for looking at a few other rows, in the order of their keys, so that the tables stay in proportion
 * to what is in use.
 */
export class SqliteTables implements LockTables {
  now = 0
  nowMicros = 0
  /** The tables of limits, in the same transaction. */
  readonly limits: SqliteLimitTables
  /** The table of what runs once, in the same transaction. */
  readonly once: SqliteOnceTables
  readonly #statements: Record<keyof typeof SQL, SqliteStatement>
  #leasesWritten = 0
  #waitersWritten = 0
  #leaseSweptTo = ''
  #queueSweptTo = { key: '', process: '' }

  constructor(database: SqliteDatabase) {
    const prepared = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)] as const)
    this.#statements = Object.fromEntries(prepared) as Record<keyof typeof SQL, SqliteStatement>
    this.limits = new SqliteLimitTables(database)
    this.once = new SqliteOnceTables(database)
  }

  /** Reads the clock for the transaction that has begun. */
  begin(): this {
    const row = this.#statements.clock.get() as { now: Numeric }
    this.now = Number(row.now)
    this.nowMicros = this.now * 1_000
    this.#leasesWritten = 0
    this.#waitersWritten = 0
    this.limits.begin(this.now)
    this.once.begin(this.now)
    return this
  }

  lease(key: string): Lease | null {
    const row = this.#statements.lease.get(key) as LeaseRow | undefined
    if (row === undefined) return null
    return { owner: row.owner, fence: Number(row.fence), trace: row.trace, expires: Number(row.expires_at) }
  }

  setLease(key: string, { owner, fence, trace, expires }: Lease): void {
    this.#statements.setLease.run(key, owner, fence, trace, expires)
    this.#leasesWritten += 1
  }

  dropLease(key: string): void {
    this.#statements.dropLease.run(key)
  }

  lastFence(fenceKey: string): number {
    const row = this.#statements.lastFence.get(fenceKey) as { last: Numeric } | undefined
    return row === undefined ? 0 : Number(row.last)
  }

  setLastFence(fenceKey: string, fence: number): void {
    this.#statements.setLastFence.run(fenceKey, fence)
  }

  waiters(queueKey: string): readonly QueueEntry[] {
    return (this.#statements.waiters.all(queueKey) as WaiterRow[]).map(entryOf)
  }

  setWaiter(queueKey: string, { process, place, beat }: QueueEntry): void {
    this.#statements.setWaiter.run(queueKey, process, place, beat)
    this.#waitersWritten += 1
  }

  dropWaiter(queueKey: string, process: string): void {
    this.#statements.dropWaiter.run(queueKey, process)
  }

  /** Removes a few rows that are over, when anything was written. */
  sweep(): void {
    if (this.#leasesWritten > 0) this.#sweepLeases(this.#leasesWritten * SWEPT_PER_WRITE)
    if (this.#waitersWritten > 0) this.#sweepQueues(this.#waitersWritten * SWEPT_PER_WRITE)
    this.limits.sweep()
    this.once.sweep()
  }

  #sweepLeases(count: number): void {
    const rows = this.#statements.leasesAfter.all(this.#leaseSweptTo, count) as LeaseRow[]
    for (const { key, expires_at } of rows) if (Number(expires_at) <= this.now) this.dropLease(key)
    this.#leaseSweptTo = rows.length < count ? '' : (rows.at(-1)?.key ?? '')
  }

  #sweepQueues(count: number): void {
    const { key, process } = this.#queueSweptTo
    const rows = this.#statements.waitersAfter.all(key, process, count) as WaiterRow[]
    for (const row of rows) if (isDead(entryOf(row), this.now)) this.dropWaiter(row.key, row.process)
    this.#queueSweptTo = (rows.length < count ? undefined : rows.at(-1)) ?? { key: '', process: '' }
  }
}

function entryOf({ process, place, beat }: WaiterRow): QueueEntry {
  return { process, place: Number(place), beat: Number(beat), woken: false }
}

const SQL = {
  clock: CLOCK,
  lease: 'SELECT owner, fence, trace, expires_at FROM holdfast_lock WHERE key = ?',
  setLease: `INSERT INTO holdfast_lock (key, owner, fence, trace, expires_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET
      owner = excluded.owner, fence = excluded.fence, trace = excluded.trace, expires_at = excluded.expires_at`,
  dropLease: 'DELETE FROM holdfast_lock WHERE key = ?',
  leasesAfter: 'SELECT key, expires_at FROM holdfast_lock WHERE key > ? ORDER BY key LIMIT ?',
  lastFence: 'SELECT last FROM holdfast_last_fence WHERE key = ?',
  setLastFence: `INSERT INTO holdfast_last_fence (key, last) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET last = excluded.last`,
  waiters: 'SELECT key, process, place, beat FROM holdfast_queue WHERE key = ?',
  setWaiter: `INSERT INTO holdfast_queue (key, process, place, beat) VALUES (?, ?, ?, ?)
    ON CONFLICT (key, process) DO UPDATE SET place = excluded.place, beat = excluded.beat`,
  dropWaiter: 'DELETE FROM holdfast_queue WHERE key = ? AND process = ?',
  waitersAfter: `SELECT key, process, place, beat FROM holdfast_queue WHERE (key, process) > (?, ?)
    ORDER BY key, process LIMIT ?`,
} as const
