import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectResp } from '../resp/connection.ts'
import type { RespConnection } from '../resp/connection.ts'
import type { CommandArgument } from '../resp/commands.ts'
import { RespError } from '../resp/replies.ts'
import type { RespReply } from '../resp/replies.ts'
import { waitFor } from '../wait.ts'
import { freePort } from './free-port.ts'
import { ownFolder, removeFolder, removeTree } from './lifetime.ts'
import { startProcess } from './process.ts'
import type { Exit, OwnedProcess } from './process.ts'
import type { ShiftedClock } from './clock/shifted-clock.ts'
import { configText, defaultBinary, KIT_USER, majorVersion } from './redis-config.ts'
import type { RedisConfig } from './redis-config.ts'

export interface RedisOptions {
  /** Keep an append-only file. Default no. */
  readonly appendonly?: boolean
  /** Snapshots as in redis.conf, for example `1 1`. Default none. */
  readonly save?: string
  /** Further directives: ACL users, maxmemory, … They win over the kit's own. */
  readonly config?: RedisConfig
  /** Default: the program that HOLDFAST_REDIS_PROGRAM names, or else `redis-server` on the PATH. */
  readonly binary?: string
  /** It watches other servers instead of keeping data. Its `config` says which. */
  readonly sentinel?: boolean
  /** A clock of its own, to be set by the test. Default: the machine's. */
  readonly clock?: ShiftedClock
  /** The longest time until it serves, in milliseconds. Default 10 000. */
  readonly startWithin?: number
}

export interface RestartOptions {
  /**
   * `true` (default): what lies on the disk is loaded again; a server that is running and is stopped gracefully
   * saves first, even if it keeps no files otherwise. `false`: it comes back empty.
   */
  readonly keepData?: boolean
  /** How a running server is brought down: gracefully (default) or with SIGKILL, which saves nothing. */
  readonly how?: 'stop' | 'kill'
  /** Directives on top of those it was started with, until the next restart. */
  readonly config?: RedisConfig
  /** `serving` (default): until it serves commands. `answering`: any answer will do, such as LOADING. */
  readonly until?: 'serving' | 'answering'
}

/**
 * Starts a `redis-server` of our own on a free loopback port, in a fresh temporary folder, and resolves when it
 * serves. It ends with this process at the latest, however that ends.
 *
 * Rejects when the program is missing, when it refuses its configuration (with what it said), or when it does not
 * serve in time; nothing is left behind then.
 */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const version = await majorVersion(options.binary ?? defaultBinary())
  for (let tries = 1; ; tries++) {
    const server = new RedisServer(await freePort(), version, options)
    try {
      await server.start()
      return server
    } catch (error) {
      const portWasTaken = /Address already in use/.test(server.log())
      await server.stop()
      if (!portWasTaken || tries === PORT_TRIES) throw error
    }
  }
}

const PORT_TRIES = 10

/** One Redis server of ours. */
export class RedisServer {
  readonly host = '127.0.0.1'
  /** Stays the same over restarts. */
  readonly port: number
  readonly url: string
  /** Where its data files lie. */
  readonly dir: string
  readonly #folder: string
  readonly #options: RedisOptions
  readonly #majorVersion: number
  readonly #secret = randomUUID()
  #process: OwnedProcess | undefined
  #admin: Promise<RespConnection> | undefined
  #stopped = false

  /** Prepares a server that is not running yet. Use `startRedis`. */
  constructor(port: number, version: number, options: RedisOptions) {
    this.port = port
    this.url = `redis://${this.host}:${port}`
    this.#options = options
    this.#majorVersion = version
    this.#folder = ownFolder('redis')
    this.dir = join(this.#folder, 'data')
    mkdirSync(this.dir)
  }

  /** Of the process that runs now or ran last. */
  get pid(): number {
    if (this.#process === undefined) throw new Error('this server was never started')
    return this.#process.pid
  }

  get running(): boolean {
    return this.#process?.running ?? false
  }

  /** Starts the process and waits until it serves. `startRedis` and `restart` call this. */
  async start(until: 'serving' | 'answering' = 'serving', config: RedisConfig = {}): Promise<void> {
    const configFile = join(this.#folder, 'redis.conf')
    writeFileSync(
      configFile,
      configText({
        port: this.port,
        dir: this.dir,
        logfile: this.#logfile,
        appendonly: this.#options.appendonly ?? false,
        save: this.#options.save ?? '',
        secret: this.#secret,
        majorVersion: this.#majorVersion,
        extra: { ...this.#options.config, ...config },
      }),
    )
    const args = this.#options.sentinel === true ? [configFile, '--sentinel'] : [configFile]
    this.#process = await startProcess(this.#options.binary ?? defaultBinary(), args, {
      ...(this.#options.clock === undefined ? {} : { env: { ...process.env, ...this.#options.clock.env } }),
    })
    await this.#untilUp(this.#process, until)
  }

  /**
   * A command on a connection that only the kit uses, as a user that may do everything. Resolves with the reply as a
   * value; an error reply rejects as RespError. No reply in 5 s (a stopped server) rejects too.
   */
  async command(...args: CommandArgument[]): Promise<RespReply> {
    const admin = await this.#adminConnection()
    return admin.call(...args)
  }

  /** What INFO says, of one section or of all, as a record. */
  async info(section = 'default'): Promise<Record<string, string>> {
    const text = (await this.command('INFO', section)) as string
    const lines = text.split('\r\n').filter((line) => line.includes(':'))
    return Object.fromEntries(lines.map((line) => [before(line, ':'), after(line, ':')]))
  }

  /**
   * A bare connection for a test's own use, as the default user or (`asAdmin`) as the kit's, who may do everything.
   * `within` bounds each reply. The caller closes it.
   */
  async connect(
    options: { readonly within?: number; readonly asAdmin?: boolean } = {},
  ): Promise<RespConnection> {
    const { asAdmin = false, ...rest } = options
    const connection = await connectResp({ host: this.host, port: this.port, ...rest })
    if (asAdmin) await connection.call('AUTH', KIT_USER, this.#secret)
    return connection
  }

  /** Gives the default user every right again, whatever a test took away. */
  async allowEverything(): Promise<void> {
    const rights = ['reset', 'on', 'nopass', 'allkeys', 'allchannels', '+@all']
    await this.command('ACL', 'SETUSER', 'default', ...rights)
  }

  /** SIGSTOP: connections stay open, nothing is answered. Resolves when it stands still. */
  async pause(): Promise<void> {
    await this.#process?.pause()
  }

  /** SIGCONT. */
  resume(): void {
    this.#process?.resume()
  }

  /** SIGKILL. The folder stays, for `restart`. */
  async kill(): Promise<void> {
    this.#closeAdmin()
    await this.#process?.kill()
  }

  /** Ends it for good, gracefully if it obeys, and removes its folder. May be called in any state and again. */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    this.#closeAdmin()
    await this.#process?.end()
    removeFolder(this.#folder)
  }

  /** Brings it down if it runs, and up again on the same port. */
  async restart(options: RestartOptions = {}): Promise<void> {
    const { keepData = true, how = 'stop', config = {}, until = 'serving' } = options
    if (this.#stopped) throw new Error('this server was stopped for good')
    if (this.running) await this.#bringDown(how, keepData)
    if (!keepData) removeTree(this.dir)
    mkdirSync(this.dir, { recursive: true })
    await this.start(until, config)
  }

  /** What the server wrote to its log, for messages and for tests that look there. */
  log(): string {
    try {
      return readFileSync(this.#logfile, 'utf8')
    } catch {
      return ''
    }
  }

  get #logfile(): string {
    return join(this.#folder, 'redis.log')
  }

  async #bringDown(how: 'stop' | 'kill', keepData: boolean): Promise<void> {
    if (how === 'kill') return this.kill()
    if (keepData && !(this.#options.appendonly ?? false)) await this.command('SAVE')
    this.#closeAdmin()
    await this.#process?.end()
  }

  async #untilUp(process: OwnedProcess, until: 'serving' | 'answering'): Promise<void> {
    let exit: Exit | undefined
    const ended = process.exited.then((how) => {
      exit = how
      return true
    })
    // What listens on our port may be a stranger who never answers: then the end of our process is the news.
    const upOrEnded = () => Promise.race([ended, this.#isUp(until)])
    await waitFor(upOrEnded, {
      what: `redis-server on port ${this.port}`,
      within: this.#options.startWithin ?? 30_000,
    }).catch((error: Error) => {
      throw new Error(`${error.message}; its log: ${this.log()}`, { cause: error })
    })
    if (exit === undefined) return
    const how = exit.signal ?? `status ${exit.code}`
    throw new Error(
      `redis-server ended at its start (${how}): ${this.log()}${process.stdout}${process.stderr}`.trim(),
    )
  }

  /** Authenticated, so that a stranger who took our port is not mistaken for our server. */
  async #isUp(until: 'serving' | 'answering'): Promise<boolean> {
    try {
      return (await this.command('PING')) === 'PONG'
    } catch (error) {
      this.#closeAdmin()
      return until === 'answering' && error instanceof RespError && error.code !== 'WRONGPASS'
    }
  }

  #adminConnection(): Promise<RespConnection> {
    this.#admin ??= this.connect({ asAdmin: true })
    const current = this.#admin
    return current.then(
      (connection) => {
        if (!connection.closed) return connection
        if (this.#admin === current) this.#admin = undefined
        return this.#adminConnection()
      },
      (error: unknown) => {
        if (this.#admin === current) this.#admin = undefined
        throw error
      },
    )
  }

  #closeAdmin(): void {
    const admin = this.#admin
    this.#admin = undefined
    admin?.then(
      (connection) => connection.close(),
      () => {},
    )
  }
}

function before(text: string, mark: string): string {
  return text.slice(0, text.indexOf(mark))
}

function after(text: string, mark: string): string {
  return text.slice(text.indexOf(mark) + 1)
}
