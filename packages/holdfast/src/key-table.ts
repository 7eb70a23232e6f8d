/** What a {@link KeyTable} holds. The table writes `hash`. */
export interface Keyed {
  readonly key: string
  hash: number
}

/** A power of two. */
const LEAST_SLOTS = 64
/** Of them at most this share is taken: beyond it, what is looked for is rarely where it is looked for first. */
const MOST_TAKEN = 0.5

/**
 * Entries by their keys, for keys that come and go by the hundred thousand a second. A `Map` makes itself a new table again and again
 * then, and keeps each outgrown one linked to the next (for its iterators): once such a table is old, the collector of young objects keeps
 * all that ever stands in those after it. This one makes nothing as long as its size is about the same.
 *
 * Open addressing with linear probing; what is removed leaves no mark (Knuth, The Art of Computer Programming, vol. 3, 6.4,
 * algorithms L and R). The hash is FNV-1a, from a start that is secret: who chooses names shall not choose where they collide.
 */
export class KeyTable<E extends Keyed> {
  readonly #seed: number
  #slots: (E | null)[] = emptySlots(LEAST_SLOTS)
  #size = 0

  /** @param secret what nobody can guess who chooses keys */
  constructor(secret: string) {
    this.#seed = hashOf(secret, FNV_OFFSET)
  }

  get size(): number {
    return this.#size
  }

  get(key: string): E | undefined {
    return this.#slots[this.#find(key, hashOf(key, this.#seed))] ?? undefined
  }

  /** Adds an entry whose key no other one has. */
  add(entry: E): void {
    if (this.#size + 1 > this.#slots.length * MOST_TAKEN) this.#resize(this.#slots.length * 2)
    entry.hash = hashOf(entry.key, this.#seed)
    this.#slots[this.#find(entry.key, entry.hash)] = entry
    this.#size += 1
  }

  /** Removes an entry; nothing happens when it is not in it. */
  remove(entry: E): void {
    const mask = this.#slots.length - 1
    let hole = this.#find(entry.key, entry.hash)
    if (this.#slots[hole] !== entry) return
    for (let at = (hole + 1) & mask; ; at = (at + 1) & mask) {
      const next = this.#slots[at] as E | null
      if (next === null) break
      // It may move to the hole when that is no further from where it is looked for first.
      if (((at - next.hash) & mask) < ((at - hole) & mask)) continue
      this.#slots[hole] = next
      hole = at
    }
    this.#slots[hole] = null
    this.#size -= 1
    if (this.#slots.length > LEAST_SLOTS && this.#size < (this.#slots.length * MOST_TAKEN) / 8)
      this.#resize(this.#slots.length / 2)
  }

  /** Those that there are now: it may be changed meanwhile. */
  all(): readonly E[] {
    return this.#slots.filter((entry) => entry !== null)
  }

  /** Where an entry is, or would be. */
  #find(key: string, hash: number): number {
    const mask = this.#slots.length - 1
    let at = hash & mask
    for (;;) {
      const entry = this.#slots[at] as E | null
      if (entry === null || (entry.hash === hash && entry.key === key)) return at
      at = (at + 1) & mask
    }
  }

  #resize(length: number): void {
    const entries = this.all()
    this.#slots = emptySlots(length)
    for (const entry of entries) this.#slots[this.#find(entry.key, entry.hash)] = entry
  }
}

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME)
  // Its low bits alone say little.
  return hash ^ (hash >>> 15)
}

function emptySlots<E>(length: number): (E | null)[] {
  return new Array<E | null>(length).fill(null)
}
