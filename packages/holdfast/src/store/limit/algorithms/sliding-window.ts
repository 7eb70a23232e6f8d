import { ADMITTED, denied, type Algorithm } from '../algorithm.ts'
import type { SlidingWindow } from '../policy.ts'
import { HitLog } from './hit-log.ts'

/** What was counted, and when. */
export interface SlidingWindowUsage {
  readonly log: HitLog
}

/**
 * The exact sliding window: a log of what was counted when. A hit counts while it is younger than `per`; exactly `per` old it
 * no longer does. Hits of one millisecond are one entry, so a log has no more entries than the limit.
 *
 * Denied takes that count push out the oldest: no more than the limit is kept, and the most recent tries are what counts.
 */
export const slidingWindowAlgorithm: Algorithm<SlidingWindow, SlidingWindowUsage> = {
  at(usage, { per }, now) {
    if (usage === null) return { log: HitLog.EMPTY }
    const log = usage.log.pulledBackTo(now).after(now - per)
    return log === usage.log ? usage : { log }
  },

  isAhead: ({ log }, _policy, now) => log.reachesBeyond(now),

  judge({ log }, { limit, per }, now, cost) {
    const over = log.used + cost - limit
    return over <= 0 ? ADMITTED : denied(log.timeOfWeight(over) + per - now)
  },

  count: ({ log }, _policy, now, cost) => ({ log: log.add(now, cost) }),

  countDenied({ log }, { limit }, now, cost) {
    const counted = log.add(now, cost)
    return { log: counted.used > limit ? counted.withoutOldest(counted.used - limit) : counted }
  },

  adjust({ log }, _policy, now, { at, taken, cost }) {
    // A take that lies in the future was moved to now with its hit.
    const changed = log.changed(Math.min(at, now), cost - taken)
    return changed === null ? null : { log: changed }
  },

  report({ log }, { limit, per }, now) {
    const newest = log.newestTime
    return {
      remaining: Math.max(0, limit - log.used),
      resetAfter: newest === null ? 0 : newest + per - now,
    }
  },

  expires({ log }, { per }) {
    const newest = log.newestTime
    return newest === null ? 0 : newest + per
  },
}
