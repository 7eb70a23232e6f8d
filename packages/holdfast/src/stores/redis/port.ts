import type { OwnConnection } from './own-connections.ts'

/** How a client is reached: two methods, so that a further client is a page of code. */
export interface RedisPort {
  /** The client family, for messages and events. */
  readonly client: 'ioredis' | 'node-redis'
  /** Whether there is a connection, over which a command goes out at once: never through the client's offline queue. */
  readonly ready: boolean
  /** Grows with each connection that begins. When it has changed, the client may have sent a command twice. */
  readonly connection: number
  /**
   * Resolves when there may be a connection; so that a command whose time is over was never sent, and none runs later.
   *
   * @param until monotonic milliseconds after which it rejects with a `StoreFailure`. Rejects with an InvalidArgumentError when
   *   the client was closed
   */
  whenReady(until: number): Promise<void>
  /** Hands one command to the client, when {@link ready}. Rejects with the client's own error, which may mean anything. */
  send(command: readonly string[]): Promise<unknown>
  /**
   * Opens a connection of its own, subscribes to the channels, and does so again whenever it was lost.
   * `onGap` is called each time the subscription has begun: what was published before is lost.
   */
  subscribe(
    channels: readonly string[],
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Subscription
  /**
   * Lends `work` a connection of its own, over which nothing else goes and nothing is ever sent again: for commands that block their
   * connection, and for answers that speak of it. A few are kept; who finds none free waits.
   *
   * @param until monotonic milliseconds after which it rejects with a `StoreFailure` when none was free, and soon after which a
   *   connection on which the work is not done is ended
   */
  withConnection<T>(until: number, work: (connection: OwnConnection) => Promise<T>): Promise<T>
  /** Called with each new connection of the client: another server may answer from now on. */
  onConnection(listener: () => void): void
  /** Called when the client was closed by its owner. */
  onEnd(listener: () => void): void
  /** Makes the client begin another connection, once for each: this one hands replies to the wrong calls. */
  distrust(): void
  /** Takes our listeners off the client. The client itself stays as it is. */
  detach(): void
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
