import { performance } from 'node:perf_hooks'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { decodeCommand } from '../resp/commands.ts'
import { freePort } from '../servers/free-port.ts'
import { CommandCounter } from './command-counter.ts'
import type { CommandCounts } from './command-counter.ts'
import { matches } from './command.ts'
import type { Match, ProxiedCommand } from './command.ts'
import { Connection } from './connection.ts'
import type { ConnectionContext, ProxyConnection } from './connection.ts'
import { Direction } from './direction.ts'
import { HeldCommand } from './held-request.ts'
import type { HeldRequest } from './held-request.ts'
import { InjectionCounter } from './injection.ts'
import type { Injection } from './injection.ts'
import { resetSocket } from './reset-socket.ts'
import { Rules } from './rules.ts'
import type { Verdict } from './rules.ts'

export interface ProxyOptions {
  /** Where connections lead to. Default host 127.0.0.1. A RedisServer of the kit fits. */
  readonly target: { readonly port: number; readonly host?: string }
  /** Keep a list of all commands in `log`. Default no. */
  readonly record?: boolean
  /**
   * `redis` (default): commands and replies are told apart, counted, and open to rules. `bytes`: nothing is read, for
   * other protocols.
   */
  readonly protocol?: 'redis' | 'bytes'
}

/** A command as it came from a client. */
export interface LoggedCommand {
  /** `performance.now()` of the proxy's process. */
  readonly at: number
  readonly connection: number
  /** Name and arguments, as UTF-8. */
  readonly command: readonly string[]
}

/** What a handler of `onCommand` may say; nothing means `pass`, unless another handler decides. */
export type CommandDecision = 'pass' | 'lose-reply' | 'reset' | { readonly delayReply: number } | undefined

/** Starts a proxy on a free loopback port. It passes everything on until it is told otherwise. */
export async function startProxy(options: ProxyOptions): Promise<TcpProxy> {
  for (let tries = 1; ; tries++) {
    const proxy = new TcpProxy(await freePort(), options)
    try {
      await proxy.accept()
      return proxy
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries === PORT_TRIES) throw error
    }
  }
}

const PORT_TRIES = 10

/**
 * A TCP proxy for tests that can hold, drop, delay or cut what passes, by direction, by connection or by command.
 *
 * A server that is down shows differently through a proxy: the connection is accepted and then reset.
 */
export class TcpProxy {
  readonly host = '127.0.0.1'
  readonly port: number
  readonly url: string
  /** From clients to the server. */
  readonly toServer = new Direction()
  /** From the server to clients. */
  readonly toClient = new Direction()
  /** All commands in the order of their arrival, if `record` was asked for. */
  readonly log: LoggedCommand[] = []
  readonly #target: { host: string; port: number }
  readonly #counter = new CommandCounter()
  readonly #rules = new Rules()
  readonly #connections = new Set<Connection>()
  readonly #silent = new Set<Socket>()
  readonly #heldRequests = new Set<HeldCommand>()
  readonly #context: ConnectionContext
  #listener: Server | undefined
  #isSilent = false
  #lastId = 0

  /** Prepares a proxy that does not listen yet. Use `startProxy`. */
  constructor(port: number, options: ProxyOptions) {
    this.port = port
    this.url = `redis://${this.host}:${port}`
    this.#target = { host: options.target.host ?? '127.0.0.1', port: options.target.port }
    this.#context = {
      target: this.#target,
      toServer: this.toServer,
      toClient: this.toClient,
      counter: this.#counter,
      rules: this.#rules,
      readsCommands: options.protocol !== 'bytes',
      record:
        options.record === true ? (connection, command) => this.#record(connection, command) : undefined,
      onClose: (connection) => this.#connections.delete(connection),
    }
  }

  /** Those that are open now. */
  get connections(): readonly ProxyConnection[] {
    return [...this.#connections]
  }

  /** What clients sent since the start or the last `resetCounts`, whether it reached the server or not. */
  get commands(): CommandCounts {
    return this.#counter.read()
  }

  /** Counts from zero again, and empties the log. */
  resetCounts(): void {
    this.#counter.reset()
    this.log.length = 0
  }

  /** RST to both sides of every connection. New ones are accepted as before. */
  resetAll(): void {
    for (const connection of [...this.#connections]) connection.reset()
    for (const socket of [...this.#silent]) resetSocket(socket)
  }

  /**
   * All present connections become half-open: the server sees them gone; the client's end stays open, what it writes
   * is swallowed, and it hears nothing, not even an end, until `resetAll`. New connections work.
   */
  halfOpen(): void {
    for (const connection of this.#connections) connection.cutOffServer()
  }

  /** Leads elsewhere from now on, as an address does that moves to another machine. All connections are reset. */
  leadTo({ host = '127.0.0.1', port }: ProxyOptions['target']): void {
    this.#target.host = host
    this.#target.port = port
    this.resetAll()
  }

  /** New connections are refused. Present ones go on. */
  async refuse(): Promise<void> {
    this.#listener?.close()
    this.#listener = undefined
  }

  /** New connections are accepted and never answered, nor brought to the server. Present ones go on. */
  async acceptSilently(): Promise<void> {
    this.#isSilent = true
    await this.#listen()
  }

  /** New connections are accepted and served, as in the beginning. */
  async accept(): Promise<void> {
    this.#isSilent = false
    await this.#listen()
  }

  /**
   * Asks the handler about each command of a client, before it goes to the server. Commands behind SUBSCRIBE and its
   * kin, MONITOR or CLIENT REPLY on the same connection are not asked about, since their replies cannot be told
   * apart. The first handler that decides counts. Returns how to take the handler back.
   */
  onCommand(handler: (command: ProxiedCommand) => CommandDecision): () => void {
    return this.#rules.add((command) => verdictOf(handler(command)))
  }

  /**
   * The next `times` commands that match are executed, but their replies never arrive: each reply is awaited,
   * discarded, and the connection reset. Replies to earlier commands still arrive; later ones on that connection are
   * lost as well.
   */
  loseReplyOf(match: Match, options: { readonly times?: number } = {}): Injection {
    return this.#inject(match, options.times, (happened) => ({ kind: 'lose-reply', happened }))
  }

  /** The replies to the next `times` commands that match come `ms` later; what is behind them waits too. */
  delayReplyOf(match: Match, ms: number, options: { readonly times?: number } = {}): Injection {
    return this.#inject(match, options.times, (happened) => ({ kind: 'delay-reply', ms, happened }))
  }

  /** The next `times` commands that match never reach the server; their connections are reset instead. */
  resetBefore(match: Match, options: { readonly times?: number } = {}): Injection {
    return this.#inject(match, options.times, (happened) => ({ kind: 'reset', happened }))
  }

  /**
   * The next command that matches is kept here, with all that comes behind it on its connection, until the handle
   * delivers it: while its connection lives, or much later, when the connection is long gone.
   */
  holdRequest(match: Match): HeldRequest {
    const request: HeldCommand = new HeldCommand(this.#target, () => removeRule())
    const removeRule = this.#rules.add((command) => {
      if (!matches(match, command)) return undefined
      removeRule()
      return { kind: 'hold', request }
    })
    this.#heldRequests.add(request)
    return request
  }

  /**
   * Everything back to normal: no rules, no delay, connections accepted. What was held goes on its way; connections
   * that lost bytes, are half-open or were never served are reset. A held request whose connection is gone stays with
   * its handle.
   */
  async heal(): Promise<void> {
    this.#rules.clear()
    for (const request of this.#heldRequests) request.release()
    this.#heldRequests.clear()
    for (const direction of [this.toServer, this.toClient]) {
      direction.cancelInjections()
      direction.pass()
    }
    for (const connection of [...this.#connections]) if (connection.isHalfOpen) connection.reset()
    for (const socket of [...this.#silent]) resetSocket(socket)
    await this.accept()
  }

  /** Resets everything and listens no more. May be called again. */
  async close(): Promise<void> {
    const listener = this.#listener
    this.#listener = undefined
    const closed = listener && new Promise((resolve) => listener.close(resolve))
    this.resetAll()
    await closed
  }

  async #listen(): Promise<void> {
    if (this.#listener !== undefined) return
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#take(socket))
    this.#listener = listener
    try {
      await new Promise<void>((resolve, reject) => {
        listener.once('error', reject)
        listener.listen(this.port, this.host, resolve)
      })
    } catch (error) {
      this.#listener = undefined
      throw error
    }
  }

  #take(client: Socket): void {
    if (this.#isSilent) {
      this.#silent.add(client)
      client.on('error', () => {})
      client.on('close', () => this.#silent.delete(client))
      client.resume()
      return
    }
    this.#connections.add(new Connection(++this.#lastId, client, this.#context))
  }

  #inject(match: Match, times = 1, verdict: (happened: () => void) => Verdict): Injection {
    const injection: InjectionCounter = new InjectionCounter(times, () => removeRule())
    const removeRule = this.#rules.add((command) => {
      if (!matches(match, command) || !injection.start()) return undefined
      return verdict(() => injection.happened())
    })
    return injection
  }

  #record(connection: number, command: Buffer): void {
    const words = decodeCommand(command).map((word) => word.toString())
    this.log.push({ at: performance.now(), connection, command: words })
  }
}

function verdictOf(decision: CommandDecision): Verdict | undefined {
  if (decision === undefined) return undefined
  const happened = () => {}
  if (typeof decision === 'object') return { kind: 'delay-reply', ms: decision.delayReply, happened }
  return { kind: decision, happened }
}
