import { Refused, ModelLacks, type Command, type CommandContext } from './command.ts'
import { commands } from './commands/index.ts'
import { ServerIdentity } from './identity.ts'
import { Keyspace, type Effect, type Entry, type Snapshot, type Value } from './keyspace.ts'
import { ScriptCache, type CompiledScript } from './lua/script-cache.ts'
import { integerOf } from './numbers.ts'
import { refusedAtTheDoor, refusedInScript, type Refusal } from './refusals.ts'
import { EffectLog } from './replication.ts'
import { bytesOf, NOT_AN_INTEGER, OK, replyOf, ServerError, type Answer, type Reply } from './reply.ts'

export interface ModelServerOptions {
  /** Compiled scripts, shared by all servers of a process. Default: one of its own. */
  readonly scripts?: ScriptCache
  /** Whether it notes what its commands change, for replicas. Default no. */
  readonly replicated?: boolean
}

const MICROS_PER_MILLI = 1_000
const NO_SCRIPT = new ServerError('NOSCRIPT No matching script. Please use EVAL.')

/**
 * A Redis server as a model: one thread, its own clock, data in memory; runs our own `.lua` files, made into JavaScript.
 *
 * It knows the commands that our scripts, our client code and the tests use; one that it lacks throws {@link ModelLacks}.
 * What has expired is gone by the time that is handed over with each command, also when that steps back and forth.
 */
export class ModelServer {
  readonly #scripts: ScriptCache
  readonly #data = new Keyspace()
  /** The scripts that EVALSHA finds. */
  #known = new Map<string, CompiledScript>()
  #nowMicros = 0
  /** What it tells of itself. */
  identity = ServerIdentity.old(0)
  /** What it refuses just now, and why. */
  refusal: Refusal | null = null
  /** What was changed, for replicas; null unless it is `replicated`. */
  readonly effects: EffectLog | null
  #scriptHasWritten = false
  /** Called for each PUBLISH with channel and message; may say how many got it. */
  onPublish: (channel: string, message: string) => number | void = () => 0

  /** The same for SPUBLISH, whose count decides what our scripts do. */
  onPublishSharded: (channel: string, message: string) => number = () => 0

  readonly #context: CommandContext
  readonly #host = { call: (name: string, args: readonly string[]): Answer => this.#fromScript(name, args) }

  constructor({ scripts = new ScriptCache(), replicated = false }: ModelServerOptions = {}) {
    this.#scripts = scripts
    this.effects = replicated ? new EffectLog() : null
    if (replicated) this.#data.watch()
    const nowMicros = (): number => this.#nowMicros
    this.#context = {
      data: this.#data,
      get nowMicros() {
        return nowMicros()
      },
      publish: (channel, message) => this.onPublish(channel, message) ?? 0,
      publishSharded: (channel, message) => this.onPublishSharded(channel, message),
      info: (section) => this.identity.info(section, this.#nowMicros),
    }
  }

  /**
   * Runs one command at server time `nowMicros` (microseconds since 1970), atomically. Error replies are returned, not thrown.
   *
   * @throws ModelLacks when the command, or one in a script, is none that the model has
   */
  execute(command: readonly string[], nowMicros: number): Reply {
    this.#setTime(nowMicros)
    const args: string[] = []
    for (let i = 1; i < command.length; i++) args.push(bytesOf(command[i] as string))
    const answer = this.#run((command[0] ?? '').toUpperCase(), args)
    this.effects?.append(this.#data.changes())
    return replyOf(answer)
  }

  /** Does what another server did: this one is its replica, and lags by what was not applied. */
  apply({ changes }: Effect): void {
    for (const [key, entry] of changes) this.#data.put(key, entry)
  }

  /** A server that has got the first so many changes of this one, which must be `replicated`. */
  replica(offset: number): ModelServer {
    const replica = new ModelServer({ scripts: this.#scripts, replicated: true })
    for (const effect of this.effects?.since(0) ?? []) if (effect.offset <= offset) replica.apply(effect)
    return replica
  }

  /** What is in the server now; to {@link restore} it here or in another server. Scripts are not part of it. */
  snapshot(): Snapshot {
    return this.#data.snapshot()
  }

  /** Puts the data in place of what is here, as after a restart: scripts are forgotten. */
  restore(snapshot: Snapshot): void {
    this.#data.restore(snapshot)
    this.#known = new Map()
  }

  /** Loses all data, as FLUSHALL. */
  flush(): void {
    this.#data.clear()
  }

  /** What lies at a key is taken out of here, to be put into another server. */
  takeOut(key: string, nowMicros: number): Entry | undefined {
    const entry = this.entry(key, nowMicros)
    if (entry === undefined) return undefined
    this.#data.delete(bytesOf(key))
    this.effects?.append(this.#data.changes())
    return entry
  }

  /** Puts in what was taken out elsewhere. */
  putIn(key: string, entry: Entry, nowMicros: number): void {
    this.#setTime(nowMicros)
    this.#data.put(bytesOf(key), entry)
    this.effects?.append(this.#data.changes())
  }

  /** Loses one key. */
  evict(key: string): void {
    this.#data.delete(bytesOf(key))
  }

  keys(nowMicros: number): string[] {
    this.#setTime(nowMicros)
    return this.#data.keys().map((key) => replyOf(key) as string)
  }

  /** As PTTL: -1 without an expiry, -2 without the key. */
  pttl(key: string, nowMicros: number): number {
    return this.execute(['PTTL', key], nowMicros) as number
  }

  /** What lies at a key and when it expires: the same object for as long as nothing writes the key. */
  entry(key: string, nowMicros: number): Entry | undefined {
    this.#setTime(nowMicros)
    return this.#data.entry(bytesOf(key))
  }

  /** What lies at a key, whatever its type; texts hold one byte a character. */
  value(key: string, nowMicros: number): Value | undefined {
    this.#setTime(nowMicros)
    return this.#data.get(bytesOf(key))
  }

  #setTime(nowMicros: number): void {
    this.#nowMicros = nowMicros
    this.#data.now = Math.floor(nowMicros / MICROS_PER_MILLI)
  }

  #run(name: string, args: readonly string[]): Answer {
    const refused = refusedAtTheDoor(this.refusal, name, commands.get(name))
    if (refused !== null) return refused
    switch (name) {
      case 'EVALSHA':
        return args.length < 2 ? wrongNumber(name) : this.#evalSha(args)
      case 'EVAL':
        return args.length < 2 ? wrongNumber(name) : this.#eval(args)
      case 'SCRIPT':
        return this.#script(args)
      default:
        return this.#plain(name, args)
    }
  }

  #plain(name: string, args: readonly string[]): Answer {
    const command = commands.get(name)
    if (command === undefined) throw new ModelLacks(`the command ${name}`)
    if (!fits(command, args)) return wrongNumber(name)
    return this.#perform(command, args)
  }

  #fromScript(name: string, args: readonly string[]): Answer {
    const command = commands.get(name) ?? commands.get(name.toUpperCase())
    if (command === undefined) throw new ModelLacks(`the command ${name} (called by a script)`)
    if (!fits(command, args))
      return new ServerError('ERR Wrong number of args calling Redis command from script')
    const refused = refusedInScript(this.refusal, command, this.#scriptHasWritten)
    if (refused !== null) return refused
    if (command.writes === true) this.#scriptHasWritten = true
    return this.#perform(command, args)
  }

  #perform(command: Command, args: readonly string[]): Answer {
    try {
      return command.run(this.#context, args)
    } catch (error) {
      if (error instanceof Refused) return error.reply
      throw error
    }
  }

  #evalSha(args: readonly string[]): Answer {
    const script = this.#known.get((args[0] ?? '').toLowerCase())
    return script === undefined ? NO_SCRIPT : this.#runScript(script, args)
  }

  #eval(args: readonly string[]): Answer {
    const script = this.#scripts.compile(args[0] ?? '')
    if (script instanceof ServerError) return script
    this.#known.set(script.sha1, script)
    return this.#runScript(script, args)
  }

  #runScript(script: CompiledScript, args: readonly string[]): Answer {
    const count = integerOf(args[1] ?? '')
    if (count === null) return NOT_AN_INTEGER
    if (count > args.length - 2)
      return new ServerError("ERR Number of keys can't be greater than number of args")
    if (count < 0) return new ServerError("ERR Number of keys can't be negative")
    this.#scriptHasWritten = false
    return this.#scripts.run(script, args.slice(2, 2 + count), args.slice(2 + count), this.#host)
  }

  #script(args: readonly string[]): Answer {
    const [subcommand = '', ...rest] = args
    switch (subcommand.toUpperCase()) {
      case 'FLUSH':
        this.#known = new Map()
        return OK
      case 'LOAD': {
        const script = this.#scripts.compile(rest[0] ?? '')
        if (script instanceof ServerError) return script
        this.#known.set(script.sha1, script)
        return script.sha1
      }
      case 'EXISTS':
        return rest.map((sha1) => (this.#known.has(sha1.toLowerCase()) ? 1 : 0))
      default:
        throw new ModelLacks(`the command SCRIPT ${subcommand}`)
    }
  }
}

function wrongNumber(name: string): ServerError {
  return new ServerError(`ERR wrong number of arguments for '${name.toLowerCase()}' command`)
}

function fits({ arity }: Command, args: readonly string[]): boolean {
  const words = args.length + 1
  return arity < 0 ? words >= -arity : words === arity
}
