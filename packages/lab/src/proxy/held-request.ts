import { connectResp } from '../resp/connection.ts'
import { decodeCommand } from '../resp/commands.ts'
import type { RespReply } from '../resp/replies.ts'
import type { ProxiedCommand } from './command.ts'

/** A request that is kept on its way to the server. */
export interface HeldRequest {
  /** Resolves with the command once one was caught. Never rejects; waits for ever when none comes. */
  readonly held: Promise<ProxiedCommand>
  /** Whether one was caught and still waits. */
  readonly isHeld: boolean
  /** Lets the connection that carried it die, by a reset of both its sides. The request lives on here. */
  cutConnection(): void
  /**
   * Brings it to the server, and resolves with the server's reply (an error reply is a value here).
   *
   * While its connection lives it goes there, followed by what waited behind it, and the client gets the reply too.
   * When the connection is gone it goes over a new one, on which HELLO, AUTH, SELECT and READONLY of the old one are
   * repeated first; nobody else sees the reply, and what had waited behind it is not brought.
   *
   * Rejects when nothing is held, or when the server or the connection ends before the reply.
   */
  deliver(): Promise<RespReply>
  /** It never arrives. A connection that still waits for it is reset. */
  discard(): void
}

/** The connection on which a request is held. */
export interface HoldingConnection {
  readonly isOpen: boolean
  /** The latest command of each kind by which it was set up. */
  readonly setup: readonly Buffer[]
  /** Sends the held command and what waits behind it; the reply, as the client gets it. */
  releaseHeld(): Promise<RespReply>
  reset(): void
}

/** The working side of a HeldRequest. */
export class HeldCommand implements HeldRequest {
  readonly held: Promise<ProxiedCommand>
  readonly #target: { readonly host: string; readonly port: number }
  readonly #cancelRule: () => void
  #resolveHeld: (command: ProxiedCommand) => void = () => {}
  #caught: { readonly command: ProxiedCommand; readonly connection: HoldingConnection } | undefined

  constructor(target: { readonly host: string; readonly port: number }, cancelRule: () => void) {
    this.#target = target
    this.#cancelRule = cancelRule
    this.held = new Promise((resolve) => (this.#resolveHeld = resolve))
  }

  get isHeld(): boolean {
    return this.#caught !== undefined
  }

  /** A connection has caught the command. */
  caught(command: ProxiedCommand, connection: HoldingConnection): void {
    this.#caught = { command, connection }
    this.#resolveHeld(command)
  }

  /** Lets it go on its way where it came, if that is still open. */
  release(): void {
    if (this.#caught?.connection.isOpen !== true) return
    // Nobody asked for this reply here; the client hears it, or of the end of its connection.
    this.deliver().catch(() => {})
  }

  cutConnection(): void {
    this.#caught?.connection.reset()
  }

  async deliver(): Promise<RespReply> {
    if (this.#caught === undefined) throw new Error('no request is held here')
    const { command, connection } = this.#caught
    this.#caught = undefined
    if (connection.isOpen) return connection.releaseHeld()
    const fresh = await connectResp(this.#target)
    try {
      const replies = await fresh.pipeline([...connection.setup, command.bytes].map(decodeCommand))
      return replies.at(-1) as RespReply
    } finally {
      fresh.close()
    }
  }

  discard(): void {
    this.#cancelRule()
    this.#caught?.connection.reset()
    this.#caught = undefined
  }
}
