/** What a {@link Bag} holds. The bag writes `place`. */
export interface Placed {
  place: number
}

/** The `place` of what is in no bag. */
export const NO_PLACE = -1

/**
 * A set of objects that come and go by the hundred thousand a second. A `Set` is made anew again and again then, and keeps from the
 * collector what stood in it, as a `Map` does ({@link KeyTable}). An object is in one bag at a time.
 */
export class Bag<T extends Placed> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  /** Adds one that is in no bag. */
  add(item: T): void {
    item.place = this.#items.length
    this.#items.push(item)
  }

  /** Takes one out; nothing happens when it is not in it. */
  remove(item: T): void {
    const { place } = item
    if (place === NO_PLACE) return
    item.place = NO_PLACE
    const last = this.#items.pop() as T
    if (last === item) return
    this.#items[place] = last
    last.place = place
  }

  /** Those that there are now: it may be changed meanwhile. */
  all(): readonly T[] {
    return [...this.#items]
  }
}
