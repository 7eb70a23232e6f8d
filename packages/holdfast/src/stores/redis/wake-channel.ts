import type { Clock, Timer } from '../../clock.ts'
import { bounds } from '../../defaults.ts'
import type { LockListener } from '../../store/contract.ts'
import type { RedisPort, Subscription } from './port.ts'

/**
 * The channel on which this process is woken and told of forced releases. It is opened when somebody needs it, on a
 * connection of its own, and closed when nobody has needed it for a while.
 */
export class WakeChannel {
  readonly #port: RedisPort
  readonly #clock: Clock
  readonly #channels: readonly string[]
  #listener: LockListener | null = null
  #subscription: Subscription | null = null
  #lingering: Timer | null = null
  #closed = false

  constructor(port: RedisPort, clock: Clock, channels: readonly string[]) {
    this.#port = port
    this.#clock = clock
    this.#channels = channels
  }

  listen(listener: LockListener): void {
    this.#listener = listener
  }

  need(needed: boolean): void {
    if (this.#closed) return
    if (needed) {
      this.#lingering?.cancel()
      this.#lingering = null
      this.#subscription ??= this.#port.subscribe(
        this.#channels,
        (message) => this.#hear(message),
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

  #hear(message: string): void {
    const [word, first = '', ...rest] = message.split(' ')
    if (word === 'free') this.#listener?.wake([first, ...rest].join(' '))
    else if (word === 'forced') this.#listener?.forced(rest.join(' '), first)
  }
}
