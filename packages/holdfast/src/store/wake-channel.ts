import type { Clock, Timer } from '../clock.ts'
import { bounds } from '../defaults.ts'
import type { LockListener } from './contract.ts'
import type { LockChannel } from './rules-lock-store.ts'

/** What a channel is made of. */
export interface WakeChannelParts {
  /** Begins to listen, on a connection of its own; `onGap` is called each time it has begun: what was said before is lost. */
  readonly subscribe: (
    onMessage: (message: string) => void,
    onGap: () => void,
  ) => { /** Never rejects. */ close(): Promise<void> }
  /** Says what a message means. */
  readonly hear: (message: string, listener: LockListener) => void
}

/**
 * The channel on which a process is woken and told of forced releases. It is opened when somebody needs it, and closed when
 * nobody has needed it for a while.
 */
export class WakeChannel implements LockChannel {
  readonly #clock: Clock
  readonly #parts: WakeChannelParts
  #listener: LockListener | null = null
  #subscription: { close(): Promise<void> } | null = null
  #lingering: Timer | null = null
  #closed = false

  constructor(clock: Clock, parts: WakeChannelParts) {
    this.#clock = clock
    this.#parts = parts
  }

  listen(listener: LockListener): void {
    this.#listener = listener
  }

  need(needed: boolean): void {
    if (this.#closed) return
    if (needed) {
      this.#lingering?.cancel()
      this.#lingering = null
      this.#subscription ??= this.#parts.subscribe(
        (message) => {
          if (this.#listener !== null) this.#parts.hear(message, this.#listener)
        },
        () => this.#listener?.gap(),
      )
    } else if (this.#subscription !== null && this.#lingering === null) {
      this.#lingering = this.#clock.setTimer(() => void this.#unsubscribe(), bounds.listenLinger)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#unsubscribe()
  }

  async #unsubscribe(): Promise<void> {
    this.#lingering?.cancel()
    this.#lingering = null
    const subscription = this.#subscription
    this.#subscription = null
    await subscription?.close()
  }
}
