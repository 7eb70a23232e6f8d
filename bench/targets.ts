/**
 * What must be reached, on medians of one interleaved run with ioredis 5 and a local Redis. A ratio is ours divided by the
 * floor, or by the best peer of the same run.
 */
export interface Target {
  /** What is compared with the bound: a ratio, or (`value`) our own figure. Whether it must be above or below is the row's. */
  readonly of: 'ratio to floor' | 'ratio to best peer' | 'value'
  readonly bound: number
}

const toFloor = (bound: number): Target => ({ of: 'ratio to floor', bound })
const toBestPeer = (bound: number): Target => ({ of: 'ratio to best peer', bound })
const value = (bound: number): Target => ({ of: 'value', bound })

/** Processes that hold leases at the same time, where it is measured how far that goes beyond a limit. */
export const LEASING_PROCESSES = 2

/** By row. */
export const targets: Readonly<Record<string, Target>> = {
  'cycle/1/throughput': toFloor(0.85),
  'cycle/1/p50': toFloor(1.25),
  'cycle/8/throughput': toFloor(0.9),
  'cycle/64/throughput': toFloor(2),
  'cycle/512/throughput': toFloor(3),
  'cycle+1ms/1/throughput': toFloor(0.97),
  'cycle+1ms/1/p50': toFloor(1.1),
  'cycle+1ms/8/throughput': toFloor(1),
  'cycle+1ms/8/p50': toFloor(1.1),
  'cycle+1ms/64/throughput': toFloor(1),
  'cycle+1ms/64/p50': toFloor(1.1),
  'cpu/64': toFloor(0.4),
  'commands/1': value(2),
  'contended/4p-1w-0ms/process-hand-overs': toFloor(0.4),
  'contended/4p-1w-1ms/process-hand-overs': toFloor(0.6),
  'contended/4p-16w-1ms/waiter-hand-overs': toFloor(0.95),
  'contended/4p-16w-1ms/jain-processes': value(0.95),
  'contended/4p-16w-1ms/jain-waiters': value(0.95),
  'contended/4p-64w-0ms/acquisitions': toBestPeer(4),
  'contended/4p-64w-0ms/commands': value(0.3),
  'drain/1000': toBestPeer(1 / 8),
  'renew/5000': value(60),
  'heap/100000': value(0.3),
  'limit/1/10000-subjects/throughput': toFloor(0.9),
  'limit/64/10000-subjects/throughput': toFloor(2),
  'limit/64/one-subject/throughput': toFloor(2),
  'limit/64/denied/throughput': toFloor(10),
  'limit/64/lease-100/throughput': toFloor(12),
  'limit/1/1ms/throughput': toFloor(0.97),
  'limit/1/1ms/p50': toFloor(1.1),
  'limit/8/1ms/throughput': toFloor(1),
  'limit/8/1ms/p50': toFloor(1.1),
  'limit/64/1ms/throughput': toFloor(1),
  'limit/64/1ms/p50': toFloor(1.1),
  // As docs/limits.md states it: so many for each process.
  'limit/lease-100/over-admission': value(100 * LEASING_PROCESSES),
  'limit/commands/three-limits': value(1),
  'limit/memory/bucket': value(90),
  'limit/memory/window-100': value(1.1),
  'limit/memory/window-10000': value(170),
  'limit/server/denied': value(1.3),
  'limit/server/admitted': value(1.3),
  'once/1/first/p50': toFloor(2.2),
  'once/64/first/throughput': toFloor(1.6),
  'once/1/replay/p50': toFloor(1.1),
  'once/commands/1000-callers': value(10),
  'guard/column/p50': toFloor(1.3),
  'guard/column/statements': value(1),
  'quorum/1/throughput': toFloor(1),
  'quorum+fence/1/throughput': toFloor(0.65),
  'quorum/64/throughput': toFloor(2),
}

/** Whether a load has a row with a target. */
export function isAimedAt(rowIds: readonly string[]): boolean {
  return rowIds.some((id) => id in targets)
}
