import { decodeCommand } from '../resp/commands.ts'
import type { RespReply } from '../resp/replies.ts'
import { RequestParser } from '../resp/request-parser.ts'
import { ProxiedCommand } from './command.ts'
import type { CommandCounter, CommandName } from './command-counter.ts'
import type { HoldingConnection } from './held-request.ts'
import type { Pipe } from './pipe.ts'
import type { ReplyMark, ReplySide } from './reply-side.ts'
import type { Rules } from './rules.ts'

export interface RequestSideOptions {
  readonly id: number
  readonly pipe: Pipe
  readonly replies: ReplySide
  readonly counter: CommandCounter
  readonly rules: Rules
  /** The connection, for requests that are held on it. */
  readonly connection: Omit<HoldingConnection, 'setup' | 'releaseHeld'>
  /** The stream is passed on unread. */
  readonly unread: boolean
  /** Is told each command as it comes; undefined: nobody wants to know. */
  readonly record: ((command: Buffer) => void) | undefined
}

/** The client's side of a connection: counts commands and asks the rules what becomes of each. */
export class RequestSide implements HoldingConnection {
  readonly #options: RequestSideOptions
  readonly #parser = new RequestParser((...found) => this.#command(...found))
  readonly #setup = new Map<string, Buffer>()
  #unread: boolean
  #subscribed = false
  #paired = true
  /** What waits at the proxy on this connection: the held command, then all behind it. */
  #waiting: Waiting[] = []
  /** Up to here the parser's bytes were sent or disposed of. */
  #doneTo = 0

  constructor(options: RequestSideOptions) {
    this.#options = options
    this.#unread = options.unread
  }

  /** Whether it has sent a command of the SUBSCRIBE family or another that ends the order of replies. */
  get subscribed(): boolean {
    return this.#subscribed
  }

  get isOpen(): boolean {
    return this.#options.connection.isOpen
  }

  get setup(): readonly Buffer[] {
    return [...this.#setup.values()]
  }

  /** Bytes from the client. Commands in pieces wait here until they are whole. */
  push(chunk: Buffer): void {
    const { pipe } = this.#options
    if (this.#unread) return pipe.send(chunk)
    this.#doneTo = 0
    const whole = this.#parser.push(chunk)
    if (whole !== undefined && this.#doneTo < whole.length) {
      pipe.send(this.#doneTo === 0 ? whole : whole.subarray(this.#doneTo))
    }
    if (this.#parser.unreadable === undefined) return
    this.#unread = true
    pipe.send(this.#parser.takeUnfinished())
  }

  releaseHeld(): Promise<RespReply> {
    const [held, ...behind] = this.#waiting
    this.#waiting = []
    return new Promise<RespReply>((resolve, reject) => {
      if (held === undefined) return reject(new Error('no request is held on this connection'))
      this.#forward(held, { kind: 'capture', resolve, reject })
      for (const one of behind) this.#decide(one)
    })
  }

  reset(): void {
    this.#options.connection.reset()
  }

  #command(bytes: Buffer, start: number, end: number, nameStart: number, nameEnd: number): void {
    const { counter, rules, record, replies, pipe } = this.#options
    const name = counter.count(bytes, nameStart, nameEnd)
    if (record !== undefined) record(bytes.subarray(start, end))
    if (name.isSetup || name.endsPairing) this.#noteState(name, bytes.subarray(start, end))
    if (rules.none && this.#waiting.length === 0) {
      replies.expect()
      return
    }
    if (start > this.#doneTo) pipe.send(bytes.subarray(this.#doneTo, start))
    this.#doneTo = end
    this.#decide({ name, bytes: bytes.subarray(start, end), paired: this.#paired })
  }

  #noteState(name: CommandName, bytes: Buffer): void {
    if (REPEATED_ON_A_NEW_CONNECTION.has(name.name)) this.#setup.set(name.name, Buffer.from(bytes))
    if (name.endsPairing) this.#subscribed = true
    if (name.endsPairing || (name.name === 'CLIENT' && isClientReply(bytes))) this.#paired = false
  }

  /** Asks the rules about one command and does as they say. */
  #decide(one: Waiting): void {
    if (this.#waiting.length > 0) {
      this.#waiting.push(one)
      return
    }
    // Whose reply cannot be told from others, is not for rules.
    if (!one.paired) return this.#forward(one)
    const command = new ProxiedCommand(this.#options.id, one.name.name, one.bytes)
    const verdict = this.#options.rules.decide(command)
    switch (verdict.kind) {
      case 'pass':
        return this.#forward(one)
      case 'lose-reply':
        return this.#forward(one, { kind: 'lose', happened: () => verdict.happened() })
      case 'delay-reply':
        return this.#forward(one, { kind: 'delay', ms: verdict.ms, happened: () => verdict.happened() })
      case 'reset':
        this.#options.pipe.sendThenReset(Buffer.alloc(0))
        return verdict.happened()
      case 'hold':
        this.#waiting.push(one)
        return verdict.request.caught(command, this)
    }
  }

  #forward(one: Waiting, mark?: ReplyMark): void {
    this.#options.replies.expect(mark)
    this.#options.pipe.send(one.bytes)
  }
}

interface Waiting {
  readonly name: CommandName
  readonly bytes: Buffer
  readonly paired: boolean
}

const REPEATED_ON_A_NEW_CONNECTION = new Set(['HELLO', 'AUTH', 'SELECT', 'READONLY'])

function isClientReply(bytes: Buffer): boolean {
  return decodeCommand(bytes)[1]?.toString().toUpperCase() === 'REPLY'
}
