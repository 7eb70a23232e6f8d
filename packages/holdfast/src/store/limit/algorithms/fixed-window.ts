import { ADMITTED, denied, type Algorithm } from '../algorithm.ts'
import type { FixedWindow } from '../policy.ts'

/** A counter of one window. */
export interface FixedWindowUsage {
  /** The window's number: it begins at `window * per`. */
  readonly window: number
  readonly per: number
  readonly count: number
}

/**
 * The fixed window: one counter that starts anew at every whole multiple of `per`. A hit at exactly such an instant belongs
 * to the window that begins there. When `per` changes, the count goes over into the present window.
 */
export const fixedWindowAlgorithm: Algorithm<FixedWindow, FixedWindowUsage> = {
  at(usage, { per }, now) {
    const window = Math.floor(now / per)
    if (usage === null) return { window, per, count: 0 }
    if (usage.per !== per) return { window, per, count: usage.count }
    if (usage.window === window) return usage
    return { window, per, count: usage.window < window ? 0 : usage.count }
  },

  isAhead: (usage, { per }, now) => usage.per === per && usage.window > Math.floor(now / per),

  judge(usage, { limit }, now, cost) {
    return usage.count + cost <= limit ? ADMITTED : denied(endOf(usage) - now)
  },

  count: (usage, _policy, _now, cost) => ({ ...usage, count: usage.count + cost }),

  countDenied(usage, { limit }, _now, cost) {
    return { ...usage, count: Math.max(usage.count, Math.min(limit, usage.count + cost)) }
  },

  adjust(usage, { per }, _now, { at, taken, cost }) {
    if (Math.floor(at / per) < usage.window) return null
    return { ...usage, count: Math.max(0, usage.count + cost - taken) }
  },

  report(usage, { limit }, now) {
    return {
      remaining: Math.max(0, limit - usage.count),
      resetAfter: usage.count > 0 ? endOf(usage) - now : 0,
    }
  },

  expires: (usage) => (usage.count > 0 ? endOf(usage) : 0),
}

const endOf = ({ window, per }: FixedWindowUsage): number => (window + 1) * per
