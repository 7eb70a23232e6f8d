import type { GiveUp } from '../sql/port.ts'

/** How a client of Postgres is reached, so that a further one is a page of code. */
export interface PostgresClientPort {
  /** The client family, for messages. */
  readonly client: 'pg' | 'postgres'
  /**
   * Begins a transaction at READ COMMITTED, whatever the connection's default is, and sends `statements` in one message. Rejects with the
   * client's own error; then the transaction is undone and its connection given back.
   */
  begin(statements: string, giveUp: GiveUp): Promise<ClientTransaction>
  /**
   * Sends statements outside of a transaction in one message; the text in the first column of the last row that came. After `give up` it may
   * stay pending: its connection is ended, where the client can do that to one.
   */
  query(statements: string, giveUp: GiveUp): Promise<string>
  /** Hears what is sent to a channel, on a connection that is kept for it and made anew when it is lost. */
  subscribe(channel: string, onMessage: (payload: string) => void, onGap: () => void): Subscription
  /** Called when the client was closed by its owner, where it tells. */
  detach(): void
}

/** A transaction that has begun. */
export interface ClientTransaction {
  /** The text in the first column of the last row that came. */
  readonly reply: string
  /** Sends statements and commits. */
  commit(statements: string): Promise<void>
  /** Undoes it, and gives the connection back. Never rejects. */
  rollback(): Promise<void>
  /** Ends the connection. */
  destroy(): void
}

export interface Subscription {
  /** Never rejects. */
  close(): Promise<void>
}

/** The connection had ended before a commit was asked for. */
export class ConnectionGone extends Error {
  override readonly name = 'ConnectionGone'

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : 'the connection was closed', { cause })
  }
}
