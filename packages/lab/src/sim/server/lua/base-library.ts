import { ModelLacks } from '../command.ts'
import { numberAt, refuse, tableAt } from './arguments.ts'
import { LuaError, place, raise } from './errors.ts'
import { luaNumberText } from './number-text.ts'
import { LuaTable } from './table.ts'
import { all, asNumber, asText, isTrue, typeName } from './values.ts'
import type { LuaFunction, LuaResult, LuaValue } from './values.ts'

/** Those of a metatable that scripts may use here. */
const KNOWN_METAMETHODS: ReadonlySet<LuaValue> = new Set(['__index'])

/** What scripts have without the name of a library. */
export const baseLibrary: Readonly<Record<string, LuaFunction>> = {
  tonumber(value, base) {
    if (base !== undefined && base !== 10) return inBase(value, numberAt([value, base], 2, 'tonumber'))
    if (typeof value === 'number') return value
    return asNumber(value) ?? undefined
  },

  tostring(...args) {
    const [value] = args
    if (args.length === 0) refuse('tostring', 1, 'value expected')
    if (typeof value === 'number') return luaNumberText(value)
    if (typeof value === 'function' || value instanceof LuaTable) return `${typeName(value)}: 0x0`
    return value === undefined ? 'nil' : String(value)
  },

  type(...args) {
    if (args.length === 0) refuse('type', 1, 'value expected')
    return typeName(args[0])
  },

  /** As Redis has it: of an error that is a table with `err`, the text. */
  pcall(...args) {
    if (args.length === 0) refuse('pcall', 1, 'value expected')
    const [work, ...given] = args
    return protectedCall(work, given)
  },

  error(value, level) {
    const at = place()
    const isPlaced = typeof value === 'string' && (level === undefined || isTrue(level)) && level !== 0
    throw new LuaError(isPlaced ? at.prefix + value : value, at)
  },

  assert(...args) {
    const [value, message] = args
    if (args.length === 0) refuse('assert', 1, 'value expected')
    if (isTrue(value)) return args
    throw new LuaError(args.length > 1 ? message : 'assertion failed!')
  },

  ipairs(...args) {
    return [nextIndex, tableAt(args, 1, 'ipairs'), 0]
  },

  pairs(...args) {
    const table = tableAt(args, 1, 'pairs')
    return [baseLibrary['next'], table, undefined]
  },

  next(...args) {
    return tableAt(args, 1, 'next').next(args[1]) ?? undefined
  },

  rawget(...args) {
    return tableAt(args, 1, 'rawget').get(args[1])
  },

  rawset(...args) {
    const table = tableAt(args, 1, 'rawset')
    table.set(args[1], args[2])
    return table
  },

  rawequal: (one, other) => one === other,

  setmetatable(...args) {
    const table = tableAt(args, 1, 'setmetatable')
    const metatable = args[1] === undefined ? null : tableAt(args, 2, 'setmetatable')
    if (table.readonly) raise('Attempt to modify a readonly table')
    for (const [name] of metatable?.pairs() ?? [])
      if (!KNOWN_METAMETHODS.has(name))
        throw new ModelLacks(`the metamethod ${asText(name) ?? typeName(name)}`)
    table.metatable = metatable
    return table
  },

  getmetatable: (value) => (value instanceof LuaTable ? (value.metatable ?? undefined) : undefined),

  select(...args) {
    const count = args.length
    if (args[0] === '#') return count - 1
    const index = numberAt(args, 1, 'select')
    if (index < 0 ? index < 1 - count : index < 1) refuse('select', 1, 'index out of range')
    return args.slice(index < 0 ? count + index : index)
  },

  unpack(...args) {
    const table = tableAt(args, 1, 'unpack')
    const first = numberAt(args, 2, 'unpack', 1)
    const last = numberAt(args, 3, 'unpack', table.length)
    if (first === 1 && last === table.array.length) return [...table.array]
    const values: LuaValue[] = []
    for (let i = first; i <= last; i += 1) values.push(table.get(i))
    return values
  },
}

/** Its name is known to {@link place}. */
function protectedCall(work: LuaValue, args: readonly LuaValue[]): LuaResult {
  try {
    if (typeof work !== 'function') raise(`attempt to call a ${typeName(work)} value`)
    return [true, ...all(work(...args))]
  } catch (error) {
    if (!(error instanceof LuaError)) throw error
    const { value } = error
    const text = value instanceof LuaTable ? value.get('err') : undefined
    return [false, typeof text === 'string' ? text : value]
  }
}

/** What `ipairs` goes on with. */
const nextIndex: LuaFunction = (table, index) => {
  const next = (index as number) + 1
  const value = (table as LuaTable).get(next)
  return value === undefined ? undefined : [next, value]
}

function inBase(value: LuaValue, base: number): LuaResult {
  if (base < 2 || base > 36) refuse('tonumber', 2, 'base out of range')
  const text = typeof value === 'string' ? value : luaNumberText(numberAt([value], 1, 'tonumber'))
  const digits = text.trim().toLowerCase()
  const number = parseInt(digits, base)
  return /^[0-9a-z]+$/.test(digits) && !Number.isNaN(number) ? number : undefined
}
