import { integer, ModelLacks, Refused, word } from '../command.ts'
import type { CommandContext, CommandTable } from '../command.ts'
import type { Keyspace, Value } from '../keyspace.ts'
import { OK, ServerError, Status } from '../reply.ts'
import type { Answer } from '../reply.ts'
import { SortedSet } from '../sorted-set.ts'

const MILLIS_PER_SECOND = 1_000
const MICROS_PER_SECOND = 1_000_000
const NO_KEY = -2
const NO_EXPIRY = -1

const remove = ({ data }: CommandContext, keys: readonly string[]): number =>
  keys.filter((key) => data.delete(key)).length

/** Commands on keys of any type, and on the server. */
export const keys: CommandTable = {
  DEL: { arity: -2, writes: true, run: remove },
  UNLINK: { arity: -2, writes: true, run: remove },
  EXISTS: { arity: -2, run: ({ data }, names) => names.filter((key) => data.has(key)).length },
  TYPE: { arity: 2, run: ({ data }, args) => new Status(typeName(data.get(word(args, 0)))) },
  PTTL: { arity: 2, run: ({ data }, args) => left(data, word(args, 0), 1) },
  TTL: { arity: 2, run: ({ data }, args) => left(data, word(args, 0), MILLIS_PER_SECOND) },
  PEXPIRETIME: { arity: 2, run: ({ data }, args) => expiry(data, word(args, 0)) },
  PEXPIRE: {
    arity: -3,
    writes: true,
    run: ({ data }, args) => expire(data, args, (amount) => amount + data.now),
  },
  EXPIRE: {
    arity: -3,
    writes: true,
    run: ({ data }, args) => expire(data, args, (amount) => amount * MILLIS_PER_SECOND + data.now),
  },
  PEXPIREAT: { arity: -3, writes: true, run: ({ data }, args) => expire(data, args, (amount) => amount) },
  PERSIST: {
    arity: 2,
    writes: true,
    run({ data }, args) {
      const key = word(args, 0)
      if (typeof data.expiry(key) !== 'number') return 0
      data.set(key, data.get(key) as Value, null)
      return 1
    },
  },
  FLUSHALL: { arity: -1, writes: true, run: flush },
  FLUSHDB: { arity: -1, writes: true, run: flush },
  DBSIZE: { arity: 1, run: ({ data }) => data.keys().length },
  PING: { arity: -1, run: (_, args) => args[0] ?? new Status('PONG') },
  ECHO: { arity: 2, run: (_, args) => word(args, 0) },
  PUBLISH: {
    arity: 3,
    whileLoading: true,
    run: (context, args) => context.publish(word(args, 0), word(args, 1)),
  },
  INFO: {
    arity: -1,
    whileLoading: true,
    run: (context, args) => context.info(args[0]?.toLowerCase() ?? null),
  },
  SPUBLISH: {
    arity: 3,
    whileLoading: true,
    run: (context, args) => context.publishSharded(word(args, 0), word(args, 1)),
  },
  TIME: { arity: 1, whileLoading: true, run: ({ nowMicros }) => timeOf(nowMicros) },
}

function timeOf(nowMicros: number): Answer {
  const micros = nowMicros % MICROS_PER_SECOND
  return [String((nowMicros - micros) / MICROS_PER_SECOND), String(micros)]
}

function typeName(value: Value | undefined): string {
  if (value === undefined) return 'none'
  if (typeof value === 'string') return 'string'
  if (value instanceof SortedSet) return 'zset'
  if (value instanceof Map) return 'hash'
  return value instanceof Set ? 'set' : 'list'
}

function expiry(data: Keyspace, key: string): number {
  const at = data.expiry(key)
  return at === undefined ? NO_KEY : (at ?? NO_EXPIRY)
}

function left(data: Keyspace, key: string, unit: number): number {
  const at = data.expiry(key)
  if (at === undefined) return NO_KEY
  if (at === null) return NO_EXPIRY
  const millis = Math.max(0, at - data.now)
  return unit === 1 ? millis : Math.floor((millis + unit / 2) / unit)
}

/** @param timeOf the time of expiry that a number means */
function expire(data: Keyspace, args: readonly string[], timeOf: (amount: number) => number): Answer {
  const key = word(args, 0)
  const condition = conditionOf(args.slice(2))
  const at = timeOf(integer(args[1]))
  const value = data.get(key)
  if (value === undefined || !mayExpire(condition, data.expiry(key) ?? null, at)) return 0
  if (at <= data.now) data.delete(key)
  else data.set(key, value, at)
  return 1
}

type Condition = 'NX' | 'XX' | 'GT' | 'LT'

function conditionOf(options: readonly string[]): Condition | null {
  for (const option of options) {
    if (!['NX', 'XX', 'GT', 'LT'].includes(option.toUpperCase()))
      throw new Refused(new ServerError(`ERR Unsupported option ${option}`))
  }
  if (options.length > 1) throw new ModelLacks('several options of one expiring command')
  return (options[0]?.toUpperCase() ?? null) as Condition | null
}

/** A key without expiry counts as one that expires last. */
function mayExpire(condition: Condition | null, before: number | null, at: number): boolean {
  switch (condition) {
    case null:
      return true
    case 'NX':
      return before === null
    case 'XX':
      return before !== null
    case 'GT':
      return before !== null && at > before
    case 'LT':
      return before === null || at < before
  }
}

function flush({ data }: CommandContext): Answer {
  data.clear()
  return OK
}
