/** Entries looked at, and cleared away when they are over, for each one that is written. */
const SWEPT_PER_WRITE = 2

interface Entry<V> {
  readonly value: V
  readonly expires: number
}

/**
 * A map whose entries end by themselves: one that is over is not there any more. Each write clears away a few of those that
 * are over, `sweep` more of them.
 */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, Entry<V>>()
  #cursor = this.#entries.entries()

  get size(): number {
    return this.#entries.size
  }

  get(key: string, now: number): V | null {
    const entry = this.#entries.get(key)
    return entry === undefined || entry.expires <= now ? null : entry.value
  }

  set(key: string, value: V, expires: number, now: number): void {
    this.#entries.set(key, { value, expires })
    this.sweep(SWEPT_PER_WRITE, now)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  /**
   * Looks at so many entries, and clears away those that are over. Goes on where the last sweep ended: the iterators of a
   * Map stay valid while it changes.
   *
   * @returns how many were cleared away
   */
  sweep(count: number, now: number): number {
    let cleared = 0
    for (let looked = 0; looked < count; looked += 1) {
      const next = this.#cursor.next()
      if (next.done === true) {
        this.#cursor = this.#entries.entries()
        return cleared
      }
      const [key, { expires }] = next.value
      if (expires > now) continue
      this.#entries.delete(key)
      cleared += 1
    }
    return cleared
  }
}
