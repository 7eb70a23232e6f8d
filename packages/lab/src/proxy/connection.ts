import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { CommandCounter } from './command-counter.ts'
import type { Direction, Flow } from './direction.ts'
import { Pipe } from './pipe.ts'
import { ReplySide } from './reply-side.ts'
import { RequestSide } from './request-side.ts'
import { resetSocket } from './reset-socket.ts'
import type { Rules } from './rules.ts'

/** One connection through the proxy, as tests see it. */
export interface ProxyConnection {
  /** Counted from 1 for each proxy. */
  readonly id: number
  /** Whether it has sent a command of the SUBSCRIBE family, or MONITOR. */
  readonly subscribed: boolean
  /** How this connection alone behaves; a later call on the proxy's own direction overrides it. */
  readonly toServer: Flow
  readonly toClient: Flow
  /** Resets both its sides. */
  reset(): void
}

/** What all connections of a proxy share. */
export interface ConnectionContext {
  readonly target: { readonly host: string; readonly port: number }
  readonly toServer: Direction
  readonly toClient: Direction
  readonly counter: CommandCounter
  readonly rules: Rules
  /** Whether the streams are RESP and read as such. */
  readonly readsCommands: boolean
  readonly record: ((connection: number, command: Buffer) => void) | undefined
  onClose(connection: Connection): void
}

/** A client's socket, the socket to the server, and the two pipes between them. */
export class Connection implements ProxyConnection {
  readonly id: number
  readonly #client: Socket
  readonly #server: Socket
  readonly #context: ConnectionContext
  readonly #toServer: Pipe
  readonly #toClient: Pipe
  readonly #requests: RequestSide
  readonly #replies: ReplySide
  #clientIsOpen = true
  #serverIsCutOff = false
  #closed = false

  constructor(id: number, client: Socket, context: ConnectionContext) {
    const { target, toServer, toClient, record } = context
    this.id = id
    this.#context = context
    this.#client = client
    this.#server = connect({ ...target, noDelay: true, allowHalfOpen: true })
    this.#toServer = this.#pipe(client, this.#server, toServer)
    this.#toClient = this.#pipe(this.#server, client, toClient)
    this.#replies = new ReplySide(this.#toClient, !context.readsCommands)
    this.#requests = new RequestSide({
      id,
      pipe: this.#toServer,
      replies: this.#replies,
      counter: context.counter,
      rules: context.rules,
      connection: this,
      unread: !context.readsCommands,
      record: record && ((command) => record(id, command)),
    })
    this.#listenToClient()
    this.#listenToServer()
  }

  get subscribed(): boolean {
    return this.#requests.subscribed
  }

  get isOpen(): boolean {
    return this.#clientIsOpen && !this.#serverIsCutOff && !this.#closed
  }

  get toServer(): Flow {
    return new PipeFlow(this.#toServer, this)
  }

  get toClient(): Flow {
    return new PipeFlow(this.#toClient, this)
  }

  /** Whether the server's side was cut off, so that nothing can go on here. */
  get isHalfOpen(): boolean {
    return this.#serverIsCutOff
  }

  reset(): void {
    this.#close()
    resetSocket(this.#client)
    resetSocket(this.#server)
  }

  /** The server's side is reset; the client's side stays open, is read, and hears nothing any more. */
  cutOffServer(): void {
    this.#serverIsCutOff = true
    this.#toServer.close()
    this.#toClient.close()
    this.#replies.close()
    resetSocket(this.#server)
  }

  #pipe(source: Socket, destination: Socket, direction: Direction): Pipe {
    const pipe = new Pipe(
      {
        source,
        destination,
        intercept: (from, bytes) => direction.intercept(from, bytes),
        reset: () => this.reset(),
      },
      direction.manner,
    )
    direction.add(pipe, this)
    return pipe
  }

  #listenToClient(): void {
    const client = this.#client
    client.on('data', (bytes: Buffer) => this.#requests.push(bytes))
    client.on('end', () => {
      this.#clientIsOpen = false
      this.#toServer.end()
    })
    client.on('error', () => {
      this.#clientIsOpen = false
      this.#toServer.sourceReset()
    })
    client.on('close', () => {
      this.#clientIsOpen = false
      this.#closeWhenBothAreGone()
    })
  }

  #listenToServer(): void {
    const server = this.#server
    server.on('data', (bytes: Buffer) => this.#replies.push(bytes))
    server.on('end', () => this.#toClient.end())
    server.on('error', () => {
      if (!this.#serverIsCutOff) this.#toClient.sourceReset()
    })
    server.on('close', () => this.#closeWhenBothAreGone())
  }

  #closeWhenBothAreGone(): void {
    if (this.#client.closed && this.#server.closed) this.#close()
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#toServer.close()
    this.#toClient.close()
    this.#replies.close()
    this.#context.toServer.delete(this.#toServer)
    this.#context.toClient.delete(this.#toClient)
    this.#context.onClose(this)
  }
}

/** One direction of one connection, for tests. */
class PipeFlow implements Flow {
  readonly #pipe: Pipe
  readonly #connection: Connection

  constructor(pipe: Pipe, connection: Connection) {
    this.#pipe = pipe
    this.#connection = connection
  }

  pass(): void {
    if (this.#pipe.lostBytes) this.#connection.reset()
    else this.delay(0)
  }

  hold(): void {
    this.#pipe.manner = { kind: 'hold' }
  }

  drop(): void {
    this.#pipe.manner = { kind: 'drop' }
  }

  delay(ms: number, { jitter = 0 }: { readonly jitter?: number } = {}): void {
    this.#pipe.manner = { kind: 'pass', delay: ms, jitter }
  }
}
