type Hooks = Set<() => void>

/**
 * Calls hooks when a signal aborts, with one listener for each signal however many hooks there are: a signal that ends a
 * whole process may be given to thousands of waiting calls, and Node warns of a leak beyond ten listeners.
 */
export class AbortHooks {
  readonly #hooks = new WeakMap<AbortSignal, { readonly hooks: Hooks; readonly onAbort: () => void }>()

  /** Calls `hook` once, when `signal` aborts, unless the returned function was called before. */
  add(signal: AbortSignal, hook: () => void): () => void {
    const hooks = this.#hooks.get(signal)?.hooks ?? this.#watch(signal)
    hooks.add(hook)
    return () => {
      hooks.delete(hook)
      const watched = this.#hooks.get(signal)
      if (watched?.hooks !== hooks || hooks.size > 0) return
      this.#hooks.delete(signal)
      signal.removeEventListener('abort', watched.onAbort)
    }
  }

  #watch(signal: AbortSignal): Hooks {
    const hooks: Hooks = new Set()
    const onAbort = (): void => {
      this.#hooks.delete(signal)
      // One that is taken out by another's call is not called.
      for (const hook of hooks) {
        hooks.delete(hook)
        hook()
      }
    }
    this.#hooks.set(signal, { hooks, onAbort })
    signal.addEventListener('abort', onAbort, { once: true })
    return hooks
  }
}
