import { floatOf, integerOf } from './numbers.ts'
import { NOT_A_FLOAT, NOT_AN_INTEGER, SYNTAX, WRONG_TYPE, type Answer, type ServerError } from './reply.ts'
import type { Keyspace, Value } from './keyspace.ts'

/** What a command may reach. */
export interface CommandContext {
  readonly data: Keyspace
  /** The server's time in microseconds; stands still while a script runs. */
  readonly nowMicros: number
  publish(channel: string, message: string): number
  publishSharded(channel: string, message: string): number
  /** What the server tells of itself. @param section one of it; `null` for all */
  info(section: string | null): string
}

/** One command of the model. */
export interface Command {
  /** Words with the name; negative: at least so many. */
  readonly arity: number
  /** Whether it may change data. */
  readonly writes?: boolean
  /** Whether a full server refuses it. */
  readonly needsMemory?: boolean
  /** Whether it is answered while data are read from the disk. */
  readonly whileLoading?: boolean
  /** @param args without the name */
  run(context: CommandContext, args: readonly string[]): Answer
}

export type CommandTable = Readonly<Record<string, Command>>

/** A command, or an option of one, that the model does not have. An error of whoever uses the model, never a reply. */
export class ModelLacks extends Error {
  override readonly name = 'ModelLacks'

  /** @param what as in `the command ZPOPMIN` */
  constructor(what: string) {
    super(`the model of the server lacks ${what}: add it to packages/lab/src/sim/server/commands`)
  }
}

/** Thrown by a command to end it with an error reply. */
export class Refused {
  readonly reply: ServerError

  constructor(reply: ServerError) {
    this.reply = reply
  }
}

export function integer(text: string | undefined): number {
  const number = integerOf(text ?? '')
  if (number === null) throw new Refused(NOT_AN_INTEGER)
  return number
}

export function float(text: string | undefined): number {
  const number = floatOf(text ?? '')
  if (number === null) throw new Refused(NOT_A_FLOAT)
  return number
}

/** The argument at `index`, which the arity promises. */
export function word(args: readonly string[], index: number): string {
  const text = args[index]
  if (text === undefined) throw new Refused(SYNTAX)
  return text
}

/** The string at a key. */
export function stringAt(data: Keyspace, key: string): string | undefined {
  const value = data.get(key)
  if (value !== undefined && typeof value !== 'string') throw new Refused(WRONG_TYPE)
  return value
}

/** The value at a key, when it is of this class. */
export function valueAt<V extends Value>(data: Keyspace, key: string, type: new () => V): V | undefined {
  const value = data.get(key)
  if (value === undefined) return undefined
  if (!(value instanceof type)) throw new Refused(WRONG_TYPE)
  return value
}
