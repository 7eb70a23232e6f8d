import type { Effect } from './keyspace.ts'

/** What a server's commands changed, one after the other, for its replicas. */
export class EffectLog {
  #effects: Effect[] = []
  /** How many there were in all. */
  offset = 0

  append(changes: Effect['changes']): void {
    if (changes.size === 0) return
    this.offset += 1
    this.#effects.push({ offset: this.offset, changes })
  }

  /** Those after that offset, oldest first. */
  since(offset: number): readonly Effect[] {
    return this.#effects.filter((effect) => effect.offset > offset)
  }

  /** Drops what all replicas have. */
  forget(offset: number): void {
    this.#effects = this.#effects.filter((effect) => effect.offset > offset)
  }
}
