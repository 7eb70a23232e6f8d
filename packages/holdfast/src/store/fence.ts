/** A fence must stay exact as a double, since Lua and JSON readers have nothing else. */
export const MAX_FENCE = 2 ** 53

/**
 * The fence of the next grant: greater than the last one, and not below the store's clock in microseconds, so that it still
 * rises when the last one was lost. All numbers are whole and below 2^53.
 */
export function nextFence(last: number, nowMicros: number): number {
  return Math.max(last + 1, nowMicros)
}

/** Reserved fences must not let the last one lead the store's clock by more than this. */
export const RESERVED_LEAD_MICROS = 1_000
