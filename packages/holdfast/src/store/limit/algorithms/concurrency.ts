import { ADMITTED, denied, type Algorithm } from '../algorithm.ts'
import type { Concurrency } from '../policy.ts'

/** What one take holds until `end`. */
export interface Slot {
  readonly take: string
  readonly weight: number
  readonly end: number
}

/** The slots in the order in which they were taken. */
export interface ConcurrencyUsage {
  readonly slots: readonly Slot[]
}

/**
 * Leased slots: each take holds its own until it is given back or its lease ends, so that a crash heals by itself. A slot
 * that reaches further than a lease from now (the clock was set back, or the lease was shortened) ends after one lease.
 */
export const concurrencyAlgorithm: Algorithm<Concurrency, ConcurrencyUsage> = {
  at(usage, { lease }, now) {
    if (usage === null) return { slots: [] }
    const latest = now + lease
    if (usage.slots.every(({ end }) => end > now && end <= latest)) return usage
    const alive = usage.slots.filter(({ end }) => end > now)
    return { slots: alive.map((slot) => (slot.end > latest ? { ...slot, end: latest } : slot)) }
  },

  isAhead: ({ slots }, { lease }, now) => slots.some(({ end }) => end > now + lease),

  judge({ slots }, { limit }, now, cost) {
    let over = weightOf(slots) + cost - limit
    if (over <= 0) return ADMITTED
    const byEnd = [...slots].sort((one, two) => one.end - two.end)
    for (const { weight, end } of byEnd) {
      over -= weight
      if (over <= 0) return denied(end - now)
    }
    // Not reached: without any slot every cost up to the limit passes.
    return denied(1)
  },

  count: ({ slots }, { lease }, now, cost, take) => ({
    slots: [...slots, { take, weight: cost, end: now + lease }],
  }),

  countDenied: (usage) => usage,

  adjust({ slots }, _policy, _now, { take, cost }) {
    if (!slots.some((slot) => slot.take === take)) return null
    if (cost === 0) return { slots: slots.filter((slot) => slot.take !== take) }
    return { slots: slots.map((slot) => (slot.take === take ? { ...slot, weight: cost } : slot)) }
  },

  report({ slots }, { limit }, now) {
    return { remaining: Math.max(0, limit - weightOf(slots)), resetAfter: Math.max(0, lastEnd(slots) - now) }
  },

  expires: ({ slots }) => lastEnd(slots),

  renew({ slots }, { lease }, now, take) {
    if (!slots.some((slot) => slot.take === take)) return null
    return { slots: slots.map((slot) => (slot.take === take ? { ...slot, end: now + lease } : slot)) }
  },
}

const weightOf = (slots: readonly Slot[]): number => slots.reduce((sum, { weight }) => sum + weight, 0)

const lastEnd = (slots: readonly Slot[]): number => slots.reduce((last, { end }) => Math.max(last, end), 0)
