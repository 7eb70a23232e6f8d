import { holdfastLimiter } from './holdfast.ts'
import type { LimiterKind } from './limiter.ts'
import { rateLimitRedis } from './rate-limit-redis.ts'
import { rateLimiterFlexible, rateLimiterFlexibleBlocking } from './rate-limiter-flexible.ts'
import { ratelimiter } from './ratelimiter.ts'
import { scriptLimiter } from './script.ts'

/** All limiters, by the names that reports use. */
export const limiters = {
  'holdfast limiter': holdfastLimiter,
  'one script call': scriptLimiter,
  'rate-limiter-flexible': rateLimiterFlexible,
  'rate-limiter-flexible (cache)': rateLimiterFlexibleBlocking,
  'rate-limit-redis': rateLimitRedis,
  ratelimiter,
} satisfies Record<string, LimiterKind>

export type LimiterName = keyof typeof limiters

export const limiterPeers: readonly LimiterName[] = [
  'rate-limiter-flexible',
  'rate-limiter-flexible (cache)',
  'rate-limit-redis',
  'ratelimiter',
]
