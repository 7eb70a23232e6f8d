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
}

/** Whether a load has a row with a target. */
export function isAimedAt(rowIds: readonly string[]): boolean {
  return rowIds.some((id) => id in targets)
}
