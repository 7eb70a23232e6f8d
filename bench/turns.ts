import { jain } from './statistics.ts'
import type { Turn } from './turn-log.ts'

/** Who wants the one name. */
export interface Crowd {
  readonly processes: number
  /** In each process. */
  readonly waiters: number
  /** How long each holds it, in milliseconds. */
  readonly work: number
}

/** What happened in one slice, in the order in which the name was had. */
export interface Turns {
  readonly all: readonly Turn[]
  /** Those that began while it was measured. */
  readonly counted: readonly Turn[]
  /** How long was measured, in milliseconds. */
  readonly measured: number
}

export interface TurnMetrics {
  readonly acquisitions: number
  readonly 'waiter-hand-overs': number
  readonly 'process-hand-overs': number
  readonly 'jain-waiters': number
  readonly 'jain-processes': number
}

/** The turns of all processes as one history. Measured is what began from `from` (inclusive) to `to`. */
export function inOrder(turns: readonly Turn[], from: number, to: number): Turns {
  const all = [...turns].sort((a, b) => a.from - b.from)
  const counted = all.filter((turn) => turn.from >= from && turn.from < to)
  return { all, counted, measured: to - from }
}

/**
 * How often two had it at once. A turn is what its holder saw of it, from the answer to its acquire until it asked for the
 * release; so an overlap is real, while a short one can be missed.
 */
export function countOverlaps(all: readonly Turn[]): number {
  let overlaps = 0
  let busyUntil = -Infinity
  for (const { from, to } of all) {
    if (from < busyUntil) overlaps += 1
    busyUntil = Math.max(busyUntil, to)
  }
  return overlaps
}

/** Rates are a second. A hand-over is a turn whose predecessor was another waiter, or another process. */
export function metricsOf({ counted, measured }: Turns, { processes, waiters }: Crowd): TurnMetrics {
  const byProcess = new Array<number>(processes).fill(0)
  const byWaiter = new Array<number>(processes * waiters).fill(0)
  let toWaiter = 0
  let toProcess = 0
  let last: Turn | undefined
  for (const turn of counted) {
    const { process, waiter } = turn
    byProcess[process] = (byProcess[process] ?? 0) + 1
    const number = process * waiters + waiter
    byWaiter[number] = (byWaiter[number] ?? 0) + 1
    if (last !== undefined && last.process !== process) toProcess += 1
    if (last !== undefined && (last.process !== process || last.waiter !== waiter)) toWaiter += 1
    last = turn
  }
  const seconds = measured / 1_000
  return {
    acquisitions: counted.length / seconds,
    'waiter-hand-overs': toWaiter / seconds,
    'process-hand-overs': toProcess / seconds,
    'jain-waiters': jain(byWaiter),
    'jain-processes': jain(byProcess),
  }
}
