import type { Role } from '../network/link.ts'
import { SimRedisClient, type ClientParts } from './redis-client.ts'

/** As ioredis does when it is not told otherwise. */
const MAX_RETRIES_PER_REQUEST = 20

interface SubscriberOptions {
  readonly retryStrategy?: (times: number) => number | null
  readonly maxRetriesPerRequest?: number | null
}

/** Behaves as a client of ioredis: what was in flight when a connection ended is sent again over the next. */
export class SimIoredis extends SimRedisClient {
  status = 'connecting'
  readonly options: SubscriberOptions & { readonly lazyConnect?: boolean }
  readonly stream = null
  readonly #subscribers: SimIoredis[]
  readonly #subscribes: boolean
  #hearsNames = false

  /** @param made `by` whom it was duplicated; `role`: what for, where that is not channels */
  constructor(
    parts: ClientParts,
    options: object = {},
    made: { by?: { readonly subscribers: SimIoredis[] }; role?: Role } = {},
  ) {
    const role = made.role ?? (made.by === undefined ? 'commands' : 'channels')
    super(parts, role)
    this.options = options
    this.#subscribes = role === 'channels'
    this.#subscribers = made.by?.subscribers ?? []
    if (made.by !== undefined) {
      this.status = 'wait'
      this.#subscribers.push(this)
    } else this.dial()
  }

  /** All connections for channels that were ever made. */
  get subscribers(): SimIoredis[] {
    return this.#subscribers
  }

  get isOpen(): boolean {
    return this.status !== 'end'
  }

  call(command: string, args: string[]): Promise<unknown> {
    return this.request([command, ...args])
  }

  duplicate(options: object): SimIoredis {
    return new SimIoredis(this.parts, options, { by: this })
  }

  connect(): Promise<void> {
    this.status = 'connecting'
    this.dial()
    return Promise.resolve()
  }

  disconnect(reconnect = false): void {
    if (reconnect) return this.begin()
    this.status = 'end'
    this.shut()
    this.#flush('Connection is closed.')
    this.emit('end')
  }

  subscribe(...channels: string[]): Promise<unknown> {
    return this.request(['SUBSCRIBE', ...channels])
  }

  ssubscribe(channel: string): Promise<unknown> {
    this.#hearsNames = true
    return this.request(['SSUBSCRIBE', channel])
  }

  sunsubscribe(channel: string): Promise<unknown> {
    return this.request(['SUNSUBSCRIBE', channel])
  }

  protected override get retryDelay(): number | null {
    const { retryStrategy } = this.options
    return retryStrategy === undefined ? Math.min(this.attempts * 50, 2_000) : retryStrategy(this.attempts)
  }

  protected override gone(): void {
    this.disconnect()
  }

  protected override up(): void {
    this.emit('connect')
    this.status = 'ready'
    const again = this.pending
    this.pending = []
    for (const pending of again) this.write(pending)
    this.emit('ready')
  }

  protected override ended(): void {
    this.status = 'reconnecting'
    const { attempts } = this
    const most = this.options.maxRetriesPerRequest ?? MAX_RETRIES_PER_REQUEST
    if (most === 0 || (!this.#subscribes && attempts > 0 && attempts % (most + 1) === 0))
      this.#flush(
        `Reached the max retries per request limit (which is ${most}). Refer to "maxRetriesPerRequest" option for details.`,
      )
  }

  protected override message(channel: string, message: string): void {
    this.emit(this.#hearsNames ? 'smessage' : 'message', channel, message)
  }

  #flush(message: string): void {
    const given = this.pending
    this.pending = []
    for (const { reject } of given) reject(new Error(message))
  }
}
