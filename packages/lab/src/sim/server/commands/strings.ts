import { integer, Refused, stringAt, word } from '../command.ts'
import type { CommandContext, CommandTable } from '../command.ts'
import { sumOf } from '../numbers.ts'
import { NOT_AN_INTEGER, OK, ServerError, SYNTAX } from '../reply.ts'
import type { Answer } from '../reply.ts'

const MILLIS_PER_SECOND = 1_000
const LONGEST_STRING = 512 * 1_024 * 1_024
const TOO_LONG = new ServerError('ERR string exceeds maximum allowed size (proto-max-bulk-len)')

/** Commands on strings. */
export const strings: CommandTable = {
  GET: {
    arity: 2,
    run: ({ data }, args) => stringAt(data, word(args, 0)) ?? null,
  },
  MGET: {
    arity: -2,
    run: ({ data }, keys) =>
      keys.map((key) => {
        const value = data.get(key)
        return typeof value === 'string' ? value : null
      }),
  },
  SET: { arity: -3, writes: true, needsMemory: true, run: set },
  SETNX: {
    arity: 3,
    writes: true,
    needsMemory: true,
    run({ data }, args) {
      if (data.has(word(args, 0))) return 0
      data.set(word(args, 0), word(args, 1), null)
      return 1
    },
  },
  PSETEX: {
    arity: 4,
    writes: true,
    needsMemory: true,
    run({ data }, args) {
      data.set(word(args, 0), word(args, 2), expiryIn(integer(args[1]), data.now, 'psetex'))
      return OK
    },
  },
  GETDEL: {
    arity: 2,
    writes: true,
    run({ data }, args) {
      const value = stringAt(data, word(args, 0))
      data.delete(word(args, 0))
      return value ?? null
    },
  },
  STRLEN: {
    arity: 2,
    run: ({ data }, args) => stringAt(data, word(args, 0))?.length ?? 0,
  },
  APPEND: {
    arity: 3,
    writes: true,
    needsMemory: true,
    run({ data }, args) {
      const value = (stringAt(data, word(args, 0)) ?? '') + word(args, 1)
      data.update(word(args, 0), value)
      return value.length
    },
  },
  GETRANGE: { arity: 4, run: getRange },
  SETRANGE: { arity: 4, writes: true, needsMemory: true, run: setRange },
  INCR: { arity: 2, writes: true, needsMemory: true, run: ({ data }, args) => increment(data, args[0], 1) },
  DECR: { arity: 2, writes: true, needsMemory: true, run: ({ data }, args) => increment(data, args[0], -1) },
  INCRBY: {
    arity: 3,
    writes: true,
    needsMemory: true,
    run: ({ data }, args) => increment(data, args[0], integer(args[1])),
  },
}

/** How SET was asked. */
interface SetOptions {
  readonly only: 'NX' | 'XX' | null
  readonly keepTtl: boolean
  readonly get: boolean
  readonly expires: number | null
}

function set({ data }: CommandContext, args: readonly string[]): Answer {
  const key = word(args, 0)
  const { only, keepTtl, get, expires } = args.length === 2 ? PLAIN : setOptions(args, data.now)
  const old = get ? (stringAt(data, key) ?? null) : null
  if (only !== null && data.has(key) === (only === 'NX')) return old
  data.set(key, word(args, 1), keepTtl ? (data.expiry(key) ?? null) : expires)
  return get ? old : OK
}

const PLAIN: SetOptions = { only: null, keepTtl: false, get: false, expires: null }

const UNIT: Readonly<Record<string, number>> = {
  EX: MILLIS_PER_SECOND,
  PX: 1,
  EXAT: MILLIS_PER_SECOND,
  PXAT: 1,
}

function setOptions(args: readonly string[], now: number): SetOptions {
  let only: SetOptions['only'] = null
  let keepTtl = false
  let get = false
  let time: { readonly option: string; readonly text: string } | null = null
  for (let i = 2; i < args.length; i++) {
    const option = word(args, i).toUpperCase()
    if (option === 'NX' || option === 'XX') {
      if (only !== null && only !== option) throw new Refused(SYNTAX)
      only = option
    } else if (option === 'GET') get = true
    else if (option === 'KEEPTTL' && time === null) keepTtl = true
    else if (option in UNIT && time === null && !keepTtl) time = { option, text: word(args, (i += 1)) }
    else throw new Refused(SYNTAX)
  }
  return {
    only,
    keepTtl,
    get,
    expires: time === null ? null : expiryOf(time.option, integer(time.text), now),
  }
}

function expiryOf(option: string, amount: number, now: number): number {
  const millis = amount * (UNIT[option] ?? 1)
  return option.endsWith('AT') ? expiryAt(millis, 'set') : expiryIn(millis, now, 'set')
}

function expiryAt(millis: number, command: string): number {
  if (millis <= 0) throw new Refused(new ServerError(`ERR invalid expire time in '${command}' command`))
  return millis
}

const expiryIn = (millis: number, now: number, command: string): number => expiryAt(millis, command) + now

function getRange({ data }: CommandContext, args: readonly string[]): Answer {
  const [first, last] = [integer(args[1]), integer(args[2])]
  const value = stringAt(data, word(args, 0)) ?? ''
  if (first < 0 && last < 0 && first > last) return ''
  const from = Math.max(0, first < 0 ? value.length + first : first)
  const to = Math.min(value.length - 1, Math.max(0, last < 0 ? value.length + last : last))
  return value.slice(from, to + 1)
}

function setRange({ data }: CommandContext, args: readonly string[]): Answer {
  const [key, offset, bytes] = [word(args, 0), integer(args[1]), word(args, 2)]
  if (offset < 0) return new ServerError('ERR offset is out of range')
  const value = stringAt(data, key) ?? ''
  if (bytes === '') return value.length
  if (offset + bytes.length > LONGEST_STRING) return TOO_LONG
  const before = value.slice(0, offset).padEnd(offset, '\0')
  const changed = before + bytes + value.slice(offset + bytes.length)
  data.update(key, changed)
  return changed.length
}

function increment(data: CommandContext['data'], key = '', by: number): Answer {
  const sum = sumOf(stringAt(data, key) ?? '0', by)
  if (sum === null) return NOT_AN_INTEGER
  if (sum === 'overflow') return new ServerError('ERR increment or decrement would overflow')
  data.update(key, sum.text)
  return sum.value
}
