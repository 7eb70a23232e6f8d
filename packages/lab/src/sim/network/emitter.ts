type Listener = (...args: unknown[]) => void

/** Events by name, as clients tell them. */
export class Emitter {
  readonly #listeners = new Map<string, Set<Listener>>()

  on(event: string, listener: Listener): this {
    const listeners = this.#listeners.get(event)
    if (listeners === undefined) this.#listeners.set(event, new Set([listener]))
    else listeners.add(listener)
    return this
  }

  off(event: string, listener: Listener): this {
    this.#listeners.get(event)?.delete(listener)
    return this
  }

  emit(event: string, ...args: unknown[]): void {
    const listeners = this.#listeners.get(event)
    if (listeners === undefined || listeners.size === 0) return
    for (const listener of [...listeners]) listener(...args)
  }

  get listenerCount(): number {
    let count = 0
    for (const listeners of this.#listeners.values()) count += listeners.size
    return count
  }
}
