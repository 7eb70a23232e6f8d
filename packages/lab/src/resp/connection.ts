import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { within as withinTime } from '../wait.ts'
import { encodeCommand } from './commands.ts'
import type { CommandArgument } from './commands.ts'
import { decodeReply, RespError } from './replies.ts'
import type { RespReply } from './replies.ts'
import { ReplyFramer } from './reply-framer.ts'

export interface ConnectOptions {
  readonly port: number
  /** Default 127.0.0.1. */
  readonly host?: string
  /** The longest time for connecting, and for each reply after that, in milliseconds. Default 5 000. */
  readonly within?: number
}

/** Opens a connection that does nothing by itself: no retry, no reconnect, no set-up commands. */
export async function connectResp(options: ConnectOptions): Promise<RespConnection> {
  const { port, host = '127.0.0.1', within = 5_000 } = options
  const socket = connect({ port, host, noDelay: true })
  const connected = new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  try {
    await withinTime(connected, within, () => new Error(`no connection to ${host}:${port} in ${within} ms`))
  } catch (error) {
    socket.destroy()
    throw error
  }
  return new RespConnection(socket, within)
}

/** One connection to a Redis server, for the kit's own use and for tests that want to see every byte's effect. */
export class RespConnection {
  /** The bare socket, to write odd bytes or to reset it. */
  readonly socket: Socket
  /** Pushes of RESP3, and what a RESP2 connection hears with no command waiting. */
  readonly pushed: RespReply[] = []
  readonly #within: number
  readonly #waiting: Waiting[] = []
  #pieces: Buffer[] = []
  #closedBy: Error | undefined

  /** Takes a connected socket. Use `connectResp`. */
  constructor(socket: Socket, within: number) {
    this.socket = socket
    this.#within = within
    this.#readReplies()
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the connection was closed')))
  }

  /** Whether it is over, by either side. */
  get closed(): boolean {
    return this.#closedBy !== undefined
  }

  /**
   * Sends one command. An error reply rejects as RespError. When no reply comes in time the connection is closed,
   * since what comes later would be taken for the answer to another command.
   */
  async call(...args: CommandArgument[]): Promise<RespReply> {
    const [reply] = await this.pipeline([args])
    if (reply instanceof RespError) throw reply
    return reply as RespReply
  }

  /** Sends commands in one write. Error replies are values here. */
  async pipeline(commands: readonly (readonly CommandArgument[])[]): Promise<RespReply[]> {
    if (this.#closedBy !== undefined) throw this.#closedBy
    const replies = commands.map(
      () => new Promise<RespReply>((resolve, reject) => this.#waiting.push({ resolve, reject })),
    )
    const all = Promise.all(replies)
    this.socket.write(Buffer.concat(commands.map(encodeCommand)))
    const overdue = () => new Error(`no reply to ${String(commands[0]?.[0])} in ${this.#within} ms`)
    try {
      return await withinTime(all, this.#within, overdue)
    } catch (error) {
      this.#fail(error as Error)
      throw error
    }
  }

  /** Sends one command and expects no reply: what comes stands in `pushed`. For SUBSCRIBE and its kin. */
  send(...args: CommandArgument[]): void {
    this.socket.write(encodeCommand(args))
  }

  /** Closes at once. Commands that wait reject. */
  close(): void {
    this.#fail(new Error('the connection was closed by its user'))
  }

  #readReplies(): void {
    let chunk: Buffer = Buffer.alloc(0)
    let start = 0
    const framer = new ReplyFramer((end, isPush) => {
      this.#pieces.push(chunk.subarray(start, end))
      start = end
      const bytes = Buffer.concat(this.#pieces)
      this.#pieces = []
      this.#take(decodeReply(bytes), isPush)
    })
    this.socket.on('data', (data: Buffer) => {
      chunk = data
      start = 0
      try {
        framer.push(data)
      } catch (error) {
        return this.#fail(error as Error)
      }
      if (start < data.length) this.#pieces.push(data.subarray(start))
    })
  }

  #take(reply: RespReply, isPush: boolean): void {
    const waiting = isPush ? undefined : this.#waiting.shift()
    if (waiting === undefined) this.pushed.push(reply)
    else waiting.resolve(reply)
  }

  #fail(error: Error): void {
    if (this.#closedBy !== undefined) return
    this.#closedBy = error
    this.socket.destroy()
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error)
  }
}

interface Waiting {
  resolve(reply: RespReply): void
  reject(error: Error): void
}
