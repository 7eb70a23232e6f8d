import { ADMITTED, denied, type Algorithm } from '../algorithm.ts'
import type { LeakyBucket, TokenBucket } from '../policy.ts'

/** What stands in a bucket: it drains by itself. */
export interface BucketUsage {
  /** In units; `unit` of them are one token. */
  readonly level: number
  /** When it was so. */
  readonly time: number
  readonly unit: number
}

/** A bucket in whole numbers. */
export interface BucketUnits {
  /** Units of one token. */
  readonly unit: number
  /** Units that drain in a millisecond. */
  readonly drain: number
  /** Units that fit. */
  readonly full: number
}

/** Levels are whole numbers up to this: six bytes hold them. A debt beyond it is not remembered. */
export const MAX_LEVEL = 2 ** 48 - 1
/** Above this units are made coarser. */
const MAX_FULL = 2 ** 47
/** Whole numbers are exact up to here. */
const EXACT = 2 ** 53

/**
 * Units in which a bucket is exact: `per` and the rate without their common divisor, so that every millisecond drains a whole
 * number. Where the full bucket would be more than 2^47 of them they are made coarser, and a token then costs a little more
 * time than asked (less than a thousandth): never more is admitted. A bucket must fill within 4000 years.
 */
export function bucketUnits(capacity: number, rate: number, per: number): BucketUnits {
  const common = greatestCommonDivisor(per, rate)
  const unit = per / common
  const drain = rate / common
  if (capacity * unit <= MAX_FULL) return { unit, drain, full: capacity * unit }
  const coarser = Math.ceil((capacity * unit) / MAX_FULL)
  const coarse = Math.max(1, Math.min(Math.floor(drain / coarser), Math.floor(EXACT / unit)))
  const larger = Math.floor((unit * coarse) / drain) + 1
  return { unit: larger, drain: coarse, full: capacity * larger }
}

function greatestCommonDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b]
  return a
}

/**
 * A bucket that drains continuously: the one number of GCRA (ITU-T I.371), kept as a level instead of a time so that it
 * carries over in tokens when the rate changes.
 *
 * A take's tokens drain as time passes. What of it can still be given back is what would be left if it alone had drained
 * since: less is given back than might be, and never so much that a burst above the capacity follows.
 */
export function bucketAlgorithm<P extends TokenBucket | LeakyBucket>(
  unitsOf: (policy: P) => BucketUnits,
  delayOf: (level: number, units: BucketUnits) => number,
): Algorithm<P, BucketUsage> {
  return {
    at(usage, policy, now) {
      const { unit, drain } = unitsOf(policy)
      if (usage === null) return { level: 0, time: now, unit }
      if (usage.time === now && usage.unit === unit) return usage
      const level = usage.unit === unit ? usage.level : Math.ceil((usage.level * unit) / usage.unit)
      const passed = Math.max(0, now - usage.time)
      return { level: Math.max(0, level - passed * drain), time: now, unit }
    },

    isAhead: (usage, _policy, now) => usage.time > now,

    judge({ level }, policy, _now, cost) {
      const units = unitsOf(policy)
      const over = level + cost * units.unit - units.full
      if (over > 0) return denied(Math.ceil(over / units.drain))
      const delay = delayOf(level, units)
      return delay === 0 ? ADMITTED : { allowed: true, retryAfter: 0, delay }
    },

    count: (usage, _policy, _now, cost) => ({ ...usage, level: usage.level + cost * usage.unit }),

    countDenied(usage, policy, _now, cost) {
      const { full } = unitsOf(policy)
      return { ...usage, level: Math.max(usage.level, Math.min(full, usage.level + cost * usage.unit)) }
    },

    adjust(usage, policy, now, { at, taken, cost }) {
      const { unit, drain, full } = unitsOf(policy)
      const passed = Math.max(0, now - at) * drain
      if (passed >= full) return null
      if (cost >= taken) {
        return { ...usage, level: Math.min(MAX_LEVEL, usage.level + (cost - taken) * unit) }
      }
      // The clock was set back since: nobody knows how much of it has drained.
      if (at > now) return null
      const back = Math.max(0, taken * unit - passed) - Math.max(0, cost * unit - passed)
      return back === 0 ? null : { ...usage, level: Math.max(0, usage.level - back) }
    },

    report({ level }, policy) {
      const { unit, drain, full } = unitsOf(policy)
      return {
        remaining: Math.max(0, Math.floor((full - level) / unit)),
        resetAfter: Math.ceil(level / drain),
      }
    },

    expires: ({ level, time }, policy) => (level > 0 ? time + Math.ceil(level / unitsOf(policy).drain) : 0),
  }
}
