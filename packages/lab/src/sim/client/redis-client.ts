import type { Executed, Frame, Link, Role } from '../network/link.ts'
import type { Path } from '../network/path.ts'
import { Emitter } from '../network/emitter.ts'
import { ServerError, type Reply } from '../server/reply.ts'
import type { ClientProcess } from './process.ts'

/** A command of which no reply has come. */
export interface Pending {
  readonly command: readonly string[]
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: Error) => void
}

/** What is sent is told to whoever looks for a moment to break something. */
export type SentListener = (command: readonly string[], role: Role) => void

/** What a client is made with. */
export interface ClientParts {
  readonly process: ClientProcess
  readonly path: Path
  /** Whether servers tell who they are. */
  readonly tells: boolean
  readonly onSent: SentListener
  /** Called after each reply, when all that follows from it has settled. */
  readonly onReply: () => void
}

/** What the clients have in common: one connection, begun again whenever it ends; replies in the order of requests. */
export abstract class SimRedisClient extends Emitter {
  protected readonly parts: ClientParts
  protected link: Link | null = null
  protected pending: Pending[] = []
  /** How many times in a row no connection came about. */
  protected attempts = 0
  readonly #role: Role
  #closed = false
  /** What the last reply answered. */
  lastExecuted: Executed | null = null
  /** How many connections came about. */
  connections = 0

  constructor(parts: ClientParts, role: Role) {
    super()
    this.parts = parts
    this.#role = role
  }

  /** `null`: it is not opened again. */
  protected abstract get retryDelay(): number | null
  protected abstract up(): void
  protected abstract ended(): void
  /** It is not opened again. */
  protected gone(): void {
    this.shut()
  }

  protected message(_channel: string, _message: string): void {
    throw new Error('a message came to a connection for commands')
  }

  protected get isClosed(): boolean {
    return this.#closed
  }

  protected dial(): void {
    if (this.#closed) return
    this.parts.path.connect(
      this.#role,
      { onFrame: (frame) => this.#heard(frame), onClose: () => this.#down() },
      (link) => {
        if (this.#closed) return link.hangUp()
        // It ended before the client heard of it.
        if (!link.open) return this.#later()
        this.link = link
        this.attempts = 0
        this.connections += 1
        this.up()
      },
      () => this.#later(),
    )
  }

  /** Where servers tell nothing of themselves, as those of a managed service, who asks is refused, with no round trip. */
  protected request(command: readonly string[]): Promise<unknown> {
    if (command[0] === 'INFO' && !this.parts.tells)
      return Promise.reject(new Error("ERR unknown command 'INFO'"))
    return new Promise((resolve, reject) => this.write({ command, resolve, reject }))
  }

  protected write(pending: Pending): void {
    if (this.link === null) throw new Error(`a command was sent without a connection: ${pending.command[0]}`)
    this.pending.push(pending)
    this.link.send(pending.command)
    this.parts.onSent(pending.command, this.#role)
  }

  /** Ends it for good. */
  protected shut(): void {
    this.#closed = true
    this.link?.hangUp()
    this.link = null
  }

  /** Ends the connection, and begins another. */
  protected begin(): void {
    this.link?.hangUp()
    this.#down()
  }

  #later(): void {
    if (this.#closed) return
    this.attempts += 1
    const { process } = this.parts
    const delay = this.retryDelay
    if (delay === null) return this.gone()
    process.scheduler.at(process.time + delay, process, () => this.dial())
  }

  #down(): void {
    if (this.#closed || this.link === null) return
    this.link = null
    this.ended()
    this.#later()
  }

  #heard(frame: Frame): void {
    if (frame.kind === 'message') return this.message(frame.channel, frame.message)
    const pending = this.pending.shift()
    if (pending === undefined) throw new Error('a reply came to no command')
    this.lastExecuted = frame.executed ?? null
    settle(pending, frame.reply)
    this.parts.onReply()
  }
}

function settle({ resolve, reject }: Pending, reply: Reply): void {
  if (reply instanceof ServerError) reject(new Error(reply.message))
  else resolve(reply)
}
