/** What passed: when each was asked, and when its answer was there, in milliseconds of one clock; in any order. */
export interface Admissions {
  readonly asked: readonly number[]
  readonly answered: readonly number[]
}

/** At most so many in any span of `per` milliseconds. */
export interface WindowBound {
  readonly limit: number
  readonly per: number
}

/**
 * By how many more than the limit have passed, in the span where that is most; at least 0. Only what was asked and answered
 * within a span counts in it: a take passes at some instant between the two, so none is counted that might not belong there,
 * and a limiter that keeps to the limit comes to 0.
 */
export function mostBeyond({ asked, answered }: Admissions, { limit, per }: WindowBound): number {
  const begins = Float64Array.from(asked).sort()
  const ends = Float64Array.from(answered).sort()
  let most = 0
  let ended = 0
  begins.forEach((from, before) => {
    while (ended < ends.length && (ends[ended] as number) < from + per) ended += 1
    // Those that were answered before the span's end, less those that were asked before it began.
    most = Math.max(most, ended - before - limit)
  })
  return most
}
