import { bounds } from '../defaults.ts'

/** One waiting process beside a lock. Times are the store's milliseconds. */
export interface QueueEntry {
  readonly process: string
  /** Place in the queue: lower is earlier. */
  readonly place: number
  /** Last sign of life. */
  readonly beat: number
  /** Whether it was woken and has not given a sign of life since. */
  readonly woken: boolean
}

/** What joining or beating makes of a process's entry; `null` when it stays as it is. */
export function beatOf(
  entry: QueueEntry | null,
  highestPlace: number,
  process: string,
  now: number,
): QueueEntry | null {
  if (entry === null) return { process, place: Math.max(highestPlace + 1, now), beat: now, woken: false }
  const fresh = !entry.woken && entry.beat <= now && now - entry.beat < bounds.heartbeat
  return fresh ? null : { ...entry, beat: now, woken: false }
}

/** Whether an entry has given no sign of life for so long that it is passed over for good. */
export function isDead(entry: QueueEntry, now: number): boolean {
  return now - entry.beat > bounds.waiterDeadAfter
}

/**
 * Who is to be woken: the first entry of another process that was not woken before without a sign since.
 *
 * @param living without the dead
 */
export function nextToWake(living: readonly QueueEntry[], process: string): QueueEntry | null {
  const able = living.filter((entry) => entry.process !== process && !entry.woken)
  return able.reduce<QueueEntry | null>(
    (first, entry) => (first === null || entry.place < first.place ? entry : first),
    null,
  )
}
