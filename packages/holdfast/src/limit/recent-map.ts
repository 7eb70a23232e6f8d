/**
 * A map of bounded size that forgets what was not used for long. Two generations: when the young one holds half of the
 * capacity it becomes the old one, and what was in the old one and not used since is forgotten. (To delete the first entry of
 * a `Map` again and again is slow: it steps over the remains of all that were deleted before.)
 */
export class RecentMap<V> {
  readonly #half: number
  readonly #forgotten: ((value: V) => void) | null
  #young = new Map<string, V>()
  #old = new Map<string, V>()

  /**
   * @param capacity so many entries at most
   * @param forgotten hears of entries that had to make room
   */
  constructor(capacity: number, forgotten: ((value: V) => void) | null = null) {
    this.#half = Math.max(1, Math.floor(capacity / 2))
    this.#forgotten = forgotten
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** Counts as a use. */
  get(key: string): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined || this.#old.size === 0) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: V): void {
    this.#old.delete(key)
    this.#young.set(key, value)
    if (this.#young.size < this.#half) return
    const gone = this.#old
    this.#old = this.#young
    this.#young = new Map()
    if (this.#forgotten !== null) for (const each of gone.values()) this.#forgotten(each)
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  /** Takes everything out. */
  drain(): V[] {
    const all = [...this.#young.values(), ...this.#old.values()]
    this.#young.clear()
    this.#old.clear()
    return all
  }
}
