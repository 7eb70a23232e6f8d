import { createHash } from 'node:crypto'
import { compileFunction } from 'node:vm'
import { formatG } from '../numbers.ts'
import { ServerError, Status, type Answer } from '../reply.ts'
import { CHUNK, LuaError, raise } from './errors.ts'
import { globalsWith } from './libraries.ts'
import * as operations from './operations.ts'
import { parse } from './parser.ts'
import { LuaTable } from './table.ts'
import { translate } from './translation.ts'
import { all, asText, isTrue, NOTHING, nth, one, typeName } from './values.ts'
import type { LuaResult, LuaValue } from './values.ts'

/** What a script runs on. */
export interface ScriptHost {
  /** One command of a script: `redis.call` and `redis.pcall`. */
  call(name: string, args: readonly string[]): Answer
}

/** A script that is ready to run. */
export interface CompiledScript {
  readonly sha1: string
  readonly run: (keys: LuaTable, args: LuaTable) => LuaResult
}

/** Digits with which Redis writes the numbers that a script hands to a command. */
const ARGUMENT_DIGITS = 17

const NOT_WORDS = 'ERR Lua redis lib command arguments must be strings or integers'
const NO_WORDS = 'ERR Please specify at least one argument for this redis lib call'

/** What a script that was made into JavaScript calls. */
const HELPERS = { ...operations, all, isTrue, missing, NOTHING, nth, one, setGlobal }

/**
 * All scripts that were met: each is compiled once. One is enough for all servers of a process, since scripts keep nothing from
 * one call to the next.
 */
export class ScriptCache {
  readonly #globals: LuaTable
  readonly #bySource = new Map<string, CompiledScript | ServerError>()
  #host: ScriptHost | null = null

  constructor() {
    this.#globals = globalsWith({
      call: (...words) => this.#call(words, true),
      pcall: (...words) => this.#call(words, false),
      error_reply: (text) => field('err', text),
      status_reply: (text) => field('ok', text),
      sha1hex: (text) => sha1Of(asText(text) ?? ''),
      log: () => NOTHING,
    })
  }

  /** The script of this text, or what Redis answers when it is none. */
  compile(source: string): CompiledScript | ServerError {
    let script = this.#bySource.get(source)
    if (script === undefined) this.#bySource.set(source, (script = this.#compiled(source)))
    return script
  }

  /** Runs a script. Keys, arguments and the answer hold one byte a character. */
  run(
    { sha1, run }: CompiledScript,
    keys: readonly string[],
    args: readonly string[],
    host: ScriptHost,
  ): Answer {
    if (this.#host !== null) throw new Error('a script runs already')
    this.#host = host
    try {
      return answerOf(one(run(new LuaTable([...keys]), new LuaTable([...args]))))
    } catch (error) {
      if (!(error instanceof LuaError)) throw error
      return new ServerError(`${messageOf(error.value)} script: ${sha1}, on @${CHUNK}:${error.line}.`)
    } finally {
      this.#host = null
    }
  }

  #compiled(source: string): CompiledScript | ServerError {
    try {
      const { code, globals } = translate(parse(source), this.#globals)
      const make = compileFunction(code, ['globals', ...Object.keys(HELPERS)], { filename: CHUNK }) as (
        ...given: unknown[]
      ) => CompiledScript['run']
      const taken = globals.map((path) =>
        path.reduce<LuaValue>((value, name) => (value as LuaTable).get(name), this.#globals),
      )
      return { sha1: sha1Of(source), run: make(taken, ...Object.values(HELPERS)) }
    } catch (error) {
      if (!(error instanceof LuaError)) throw error
      return new ServerError(`ERR Error compiling script (new function): ${asText(error.value) ?? ''}`)
    }
  }

  #call(words: readonly LuaValue[], raises: boolean): LuaValue {
    const command: string[] = []
    for (let i = 1; i < words.length; i += 1) {
      const word = wordOf(words[i])
      if (word === null) return refuse(new ServerError(NOT_WORDS), raises)
      command.push(word)
    }
    if (words.length === 0) return refuse(new ServerError(NO_WORDS), raises)
    const name = wordOf(words[0])
    if (name === null) return refuse(new ServerError(NOT_WORDS), raises)
    const answer = (this.#host as ScriptHost).call(name, command)
    return answer instanceof ServerError ? refuse(answer, raises) : luaValueOf(answer)
  }
}

function wordOf(value: LuaValue): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? formatG(value, ARGUMENT_DIGITS) : null
}

function refuse(error: ServerError, raises: boolean): LuaValue {
  const value = luaValueOf(error)
  if (raises) throw new LuaError(value)
  return value
}

function luaValueOf(answer: Answer): LuaValue {
  if (typeof answer === 'string' || typeof answer === 'number') return answer
  if (answer === null) return false
  if (answer instanceof Status) return field('ok', answer.text)
  if (answer instanceof ServerError) return field('err', answer.message)
  return new LuaTable(answer.map(luaValueOf))
}

function answerOf(value: LuaValue): Answer {
  if (typeof value === 'string') return value
  // No minus before 0.
  if (typeof value === 'number') return Math.trunc(value) + 0
  if (typeof value === 'boolean') return value ? 1 : null
  if (!(value instanceof LuaTable)) return null
  const error = value.get('err')
  if (typeof error === 'string') return new ServerError(error)
  const status = value.get('ok')
  if (typeof status === 'string') return new Status(status)
  const items: Answer[] = []
  for (let i = 1; ; i += 1) {
    const item = value.get(i)
    if (item === undefined) return items
    items.push(answerOf(item))
  }
}

/** What Redis says of what ended a script. */
function messageOf(value: LuaValue): string {
  if (value instanceof LuaTable) return asText(value.get('err')) ?? ''
  return `ERR ${asText(value) ?? (value === undefined ? 'nil' : typeof value === 'boolean' ? String(value) : typeName(value))}`
}

function field(name: string, text: LuaValue): LuaTable {
  if (typeof text !== 'string') return raise('wrong number or type of arguments')
  const table = new LuaTable()
  table.set(name, text)
  return table
}

/** A global that is not there. */
function missing(name: string): never {
  return raise(`Script attempted to access nonexistent global variable '${name}'`)
}

function setGlobal(): never {
  return raise('Attempt to modify a readonly table')
}

/** Of a script's text, one byte a character. */
export function sha1Of(bytes: string): string {
  return createHash('sha1').update(Buffer.from(bytes, 'latin1')).digest('hex')
}
