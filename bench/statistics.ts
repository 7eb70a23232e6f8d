/** The middle one; of an even number the mean of the two in the middle. NaN of none. */
export function median(values: readonly number[] | Float64Array): number {
  const sorted = Float64Array.from(values).sort()
  const middle = sorted.length / 2
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] as number
  return ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2
}

/**
 * Jain's fairness index: 1 when all got the same, 1/n when one of n got everything.
 * (R. Jain, D. Chiu, W. Hawe, 1984.)
 */
export function jain(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0)
  const squares = shares.reduce((total, share) => total + share * share, 0)
  return squares === 0 ? NaN : (sum * sum) / (shares.length * squares)
}
