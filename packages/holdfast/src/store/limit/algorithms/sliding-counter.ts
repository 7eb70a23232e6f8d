import { ADMITTED, denied, type Algorithm } from '../algorithm.ts'
import type { SlidingCounter } from '../policy.ts'

/** The counters of a window and of the one before it. */
export interface SlidingCounterUsage {
  /** The present window's number: it begins at `window * per`. */
  readonly window: number
  readonly per: number
  readonly current: number
  readonly previous: number
}

/**
 * The sliding window counter (as described by Cloudflare, "How we built rate limiting", 2017): the window before counts by
 * the part of it that still lies within the last `per` milliseconds, as if its hits had been spread evenly.
 *
 * Its error comes from that: hits at the end of the window before count too little soon after the edge. At worst nearly twice
 * the limit passes within `per` (all of the first window's at its end, then again all of it at the end of the second); in
 * even traffic the error is a few percent. When `per` changes, what counts at that instant goes over into the present window.
 */
export const slidingCounterAlgorithm: Algorithm<SlidingCounter, SlidingCounterUsage> = {
  at(usage, { per }, now) {
    const window = Math.floor(now / per)
    if (usage === null) return { window, per, current: 0, previous: 0 }
    if (usage.per !== per) {
      const standing = movedOn(usage, now)
      return { window, per, current: Math.ceil(weighted(standing, now) / standing.per), previous: 0 }
    }
    return movedOn(usage, now)
  },

  isAhead: (usage, { per }, now) => usage.per === per && usage.window > Math.floor(now / per),

  judge(usage, { limit }, now, cost) {
    if (passes(usage, limit, now, cost)) return ADMITTED
    return denied(leastWait(usage, limit, now, cost))
  },

  count: (usage, _policy, _now, cost) => ({ ...usage, current: usage.current + cost }),

  countDenied(usage, { limit }, now, cost) {
    return { ...usage, current: usage.current + Math.min(cost, room(usage, limit, now)) }
  },

  adjust(usage, { per }, _now, { at, taken, cost }) {
    const window = Math.floor(at / per)
    const change = cost - taken
    if (window >= usage.window) return { ...usage, current: Math.max(0, usage.current + change) }
    if (window === usage.window - 1) return { ...usage, previous: Math.max(0, usage.previous + change) }
    return null
  },

  report(usage, { limit }, now) {
    const { window, per, current, previous } = usage
    const ends = current > 0 ? (window + 2) * per : (window + 1) * per
    return {
      remaining: room(usage, limit, now),
      resetAfter: current > 0 || previous > 0 ? ends - now : 0,
    }
  },

  expires({ window, per, current, previous }) {
    return current > 0 || previous > 0 ? (window + 2) * per : 0
  },
}

function movedOn(usage: SlidingCounterUsage, now: number): SlidingCounterUsage {
  const { per } = usage
  const window = Math.floor(now / per)
  if (usage.window === window) return usage
  if (usage.window > window) return { ...usage, window }
  return { window, per, current: 0, previous: usage.window === window - 1 ? usage.current : 0 }
}

/** What counts at `now`, times the window's length: a whole number. */
function weighted({ window, per, current, previous }: SlidingCounterUsage, now: number): number {
  const elapsed = now - window * per
  return previous * (per - elapsed) + current * per
}

function passes(
  { window, per, current, previous }: SlidingCounterUsage,
  limit: number,
  now: number,
  cost: number,
) {
  const elapsed = now - window * per
  return previous * (per - elapsed) + (current + cost) * per <= limit * per
}

function room(usage: SlidingCounterUsage, limit: number, now: number): number {
  const { per } = usage
  let room = Math.max(0, Math.floor((limit * per - weighted(usage, now)) / per))
  // Beyond 2^53 the products are rounded, and then it may be one off.
  while (room > 0 && !passes(usage, limit, now, room)) room -= 1
  return room
}

/** The least time after which the cost passes if nothing else happens; at most what is left of this window, and the next. */
function leastWait(usage: SlidingCounterUsage, limit: number, now: number, cost: number): number {
  const { window, per, current, previous } = usage
  const left = (window + 1) * per - now
  const spare = limit - cost - current
  // In this window the one before fades; in the next this one does.
  let wait =
    spare >= 0 && previous > 0
      ? left - Math.floor((spare * per) / previous)
      : left + per - (current > 0 ? Math.floor(((limit - cost) * per) / current) : per)
  wait = Math.min(Math.max(wait, 1), left + per)
  const passesAfter = (ms: number): boolean => passes(movedOn(usage, now + ms), limit, now + ms, cost)
  while (wait > 1 && passesAfter(wait - 1)) wait -= 1
  while (wait < left + per && !passesAfter(wait)) wait += 1
  return wait
}
