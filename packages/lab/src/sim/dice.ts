import { seededRandomness, type Randomness } from 'holdfast/testing'

/** What one seed decides. Parts of a world have dice of their own, so that taking one part away leaves the others' rolls. */
export class Dice {
  readonly randomness: Randomness

  constructor(seed: number) {
    this.randomness = seededRandomness(seed)
  }

  /** From `low` (included) to `high` (excluded). */
  between(low: number, high: number): number {
    return low + (high - low) * this.randomness.fraction()
  }

  /** A whole number, both ends included. */
  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1))
  }

  chance(share: number): boolean {
    return this.randomness.fraction() < share
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('there is nothing to pick from')
    return items[this.whole(0, items.length - 1)] as T
  }
}

/** A seed for a part of the world: other parts, and the same part of other seeds, get unlike ones. */
export function seedFor(seed: number, part: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(part + 1, 0xc2b2ae35)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  return (mixed ^ (mixed >>> 13)) >>> 0
}
