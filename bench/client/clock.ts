/**
 * Milliseconds by the machine's monotonic clock, the same in all of its processes: times of different clients can be put in
 * order. (`performance.now()` counts from the start of each process, and `performance.timeOrigin` is taken from the wall
 * clock.)
 */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Resolves at that time of `now`, a part of a millisecond late. At once if it is over. */
export async function until(time: number): Promise<void> {
  const left = time - now()
  if (left > 0) await pause(left)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
