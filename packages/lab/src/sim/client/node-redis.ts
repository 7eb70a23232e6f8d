import type { Role } from '../network/link.ts'
import { SimRedisClient, type ClientParts } from './redis-client.ts'

/** Milliseconds until it tries again that so often failed; `false`: it does not. */
export type ReconnectStrategy = false | ((retries: number) => number)

/** Behaves as a client of node-redis: what was in flight when a connection ended is rejected, and may have been done. */
export class SimNodeRedis extends SimRedisClient {
  isOpen = true
  isReady = false
  readonly options = {}
  readonly #subscribers: SimNodeRedis[]
  /** What it subscribes to again by itself: what was confirmed once. */
  #channels: readonly string[] = []
  #listener: ((message: string) => void) | null = null

  readonly #strategy: ReconnectStrategy | undefined

  /** @param made `by` whom it was duplicated; `role`: what for, where that is not channels; its own `reconnectStrategy` */
  constructor(
    parts: ClientParts,
    made: {
      by?: { readonly subscribers: SimNodeRedis[] }
      role?: Role
      reconnectStrategy?: ReconnectStrategy
    } = {},
  ) {
    super(parts, made.role ?? (made.by === undefined ? 'commands' : 'channels'))
    this.#strategy = made.reconnectStrategy
    this.#subscribers = made.by?.subscribers ?? []
    if (made.by === undefined) this.dial()
    else {
      this.isOpen = false
      this.#subscribers.push(this)
    }
  }

  get subscribers(): SimNodeRedis[] {
    return this.#subscribers
  }

  sendCommand(args: readonly string[]): Promise<unknown> {
    return this.request(args)
  }

  duplicate(): SimNodeRedis {
    return new SimNodeRedis(this.parts, { by: this })
  }

  connect(): Promise<void> {
    this.isOpen = true
    this.dial()
    return Promise.resolve()
  }

  async subscribe(channels: readonly string[], listener: (message: string) => void): Promise<void> {
    this.#listener = listener
    await this.request(['SUBSCRIBE', ...channels])
    this.#channels = channels
  }

  async sSubscribe(channel: string, listener: (message: string) => void): Promise<void> {
    this.#listener = listener
    await this.request(['SSUBSCRIBE', channel])
  }

  sUnsubscribe(channel: string): Promise<unknown> {
    return this.request(['SUNSUBSCRIBE', channel])
  }

  destroy(): void {
    this.isOpen = false
    this.isReady = false
    this.shut()
    this.#rejectAll('The client is closed')
  }

  unref(): void {
    // Nothing here keeps a process alive.
  }

  protected override get retryDelay(): number | null {
    if (this.#strategy === false) return null
    if (this.#strategy !== undefined) return this.#strategy(this.attempts - 1)
    return Math.min(2 ** this.attempts * 50, 2_000) + this.parts.process.dice.between(0, 200)
  }

  protected override up(): void {
    const ready = (): void => {
      if (this.link === null) return
      this.isReady = true
      this.emit('ready')
    }
    if (this.#channels.length === 0) return ready()
    this.request(['SUBSCRIBE', ...this.#channels]).then(ready, () => undefined)
  }

  protected override gone(): void {
    this.destroy()
    this.emit('end')
  }

  protected override ended(): void {
    this.isReady = false
    this.#rejectAll('Socket closed unexpectedly')
  }

  protected override message(_channel: string, message: string): void {
    this.#listener?.(message)
  }

  #rejectAll(message: string): void {
    const given = this.pending
    this.pending = []
    for (const { reject } of given) reject(new Error(message))
  }
}
