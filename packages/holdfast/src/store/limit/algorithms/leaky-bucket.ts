import type { LeakyBucket } from '../policy.ts'
import { bucketAlgorithm, bucketUnits } from './bucket.ts'

/**
 * The leaky bucket as a queue: takes stand in line, and `rate` of them go in every `per`. One that is admitted is told how
 * long those before it take; it occupies as many places as it costs.
 */
export const leakyBucketAlgorithm = bucketAlgorithm<LeakyBucket>(
  ({ capacity, rate, per }) => bucketUnits(capacity, rate, per),
  (level, { drain }) => Math.ceil(level / drain),
)
