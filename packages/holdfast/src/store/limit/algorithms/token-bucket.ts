import type { TokenBucket } from '../policy.ts'
import { bucketAlgorithm, bucketUnits } from './bucket.ts'

/** The token bucket: up to `capacity` at once, and `refill` more in every `per`, continuously. */
export const tokenBucketAlgorithm = bucketAlgorithm<TokenBucket>(
  ({ capacity, refill, per }) => bucketUnits(capacity, refill, per),
  () => 0,
)
