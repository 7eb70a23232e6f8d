/** How a client is reached: two methods, so that a further client is a page of code. */
export interface RedisPort {
  /** The client family, for messages and events. */
  readonly client: 'ioredis' | 'node-redis'
  /**
   * Sends one command. Never through the client's offline queue: while there is no connection it waits for one, until
   * `until` (monotonic milliseconds), and then rejects without having sent anything.
   *
   * @param build makes the command, synchronously with handing it to the client; `null` calls it off
   * @returns the reply as the client gives it; `null` when called off. Rejects with the client's own error, which may mean
   *   anything (wrapped in a `SentTwiceError` when the connection changed meanwhile), or with a `StoreFailure` when nothing
   *   was sent.
   */
  send(build: () => readonly string[] | null, until: number): Promise<PortReply | null>
  /**
   * Opens a connection of its own, subscribes to the channels, and does so again whenever it was lost.
   * `onGap` is called each time the subscription has begun: what was published before is lost.
   */
  subscribe(
    channels: readonly string[],
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Subscription
  /** Called with each new connection of the client: another server may answer from now on. */
  onConnection(listener: () => void): void
  /** Called when the client was closed by its owner. */
  onEnd(listener: () => void): void
  /** Makes the client begin another connection, once for each: this one hands replies to the wrong calls. */
  distrust(): void
  /** Takes our listeners off the client. The client itself stays as it is. */
  detach(): void
}

export interface PortReply {
  readonly reply: unknown
  /** False when the connection changed between sending and reply: the client may have sent the command twice. */
  readonly sameConnection: boolean
}

/**
 * A client's error, as its `cause`, for a command that the client may have sent twice. Even a clear refusal speaks of the
 * last copy only: an earlier one may have been done.
 */
export class SentTwiceError extends Error {
  override readonly name = 'SentTwiceError'

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

export interface Subscription {
  /** Ends the connection. Never rejects. */
  close(): Promise<void>
}
