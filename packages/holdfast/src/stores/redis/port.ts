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
   *   anything, or with a `StoreFailure` when nothing was sent.
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
  /** Takes our listeners off the client. The client itself stays as it is. */
  detach(): void
}

export interface PortReply {
  readonly reply: unknown
  /** False when the connection changed between sending and reply: the client may have sent the command twice. */
  readonly sameConnection: boolean
}

export interface Subscription {
  /** Ends the connection. Never rejects. */
  close(): Promise<void>
}
