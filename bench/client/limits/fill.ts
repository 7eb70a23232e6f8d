import type { Limiter } from '../../contenders/limits/limiter.ts'
import { now } from '../clock.ts'

export interface FillWish {
  readonly subject: string
  readonly takes: number
  /** Of each take. */
  readonly cost: number
  /** Milliseconds from one take to the next; 0: as soon as it was answered. */
  readonly every: number
}

/** Takes so often, one after the other. What comes in one millisecond may be kept as one, so they are kept apart. */
export async function fill(limiter: Limiter, { subject, takes, cost, every }: FillWish): Promise<void> {
  for (let i = 0; i < takes; i += 1) {
    const next = now() + every
    if (!limiter.allows(await limiter.take(subject, cost))) throw new Error(`take ${i + 1} was denied`)
    // No timer: it would be a millisecond late.
    while (now() < next) await new Promise((resolve) => setImmediate(resolve))
  }
}
