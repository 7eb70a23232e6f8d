import { refuse } from './arguments.ts'
import { raise } from './errors.ts'
import { luaNumber } from './number-text.ts'
import { LuaTable } from './table.ts'
import { textLibrary } from './text-library.ts'
import { asNumber, asText, one, typeName, type LuaFunction, type LuaValue } from './values.ts'

/**
 * What the operators of Lua do, for what is made of a script. Each has a short way for what nearly always comes, and names what it
 * cannot do as Lua does: `what` says how the script calls a value, as in "local 'x'".
 */

type Named = string | undefined

/** How Lua speaks of a value that something cannot be done with. */
function spokenOf(value: LuaValue, what: Named): string {
  const type = `a ${typeName(value)} value`
  return what === undefined ? type : `${what} (${type})`
}

function operand(value: LuaValue, what: Named): number {
  return asNumber(value) ?? raise(`attempt to perform arithmetic on ${spokenOf(value, what)}`)
}

export function add(a: LuaValue, b: LuaValue, whatA?: Named, whatB?: Named): number {
  return typeof a === 'number' && typeof b === 'number' ? a + b : operand(a, whatA) + operand(b, whatB)
}

export function subtract(a: LuaValue, b: LuaValue, whatA?: Named, whatB?: Named): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : operand(a, whatA) - operand(b, whatB)
}

export function multiply(a: LuaValue, b: LuaValue, whatA?: Named, whatB?: Named): number {
  return typeof a === 'number' && typeof b === 'number' ? a * b : operand(a, whatA) * operand(b, whatB)
}

export function divide(a: LuaValue, b: LuaValue, whatA?: Named, whatB?: Named): number {
  return operand(a, whatA) / operand(b, whatB)
}

/** The rest of a division that is rounded down. */
export function modulo(a: LuaValue, b: LuaValue, whatA?: Named, whatB?: Named): number {
  const [dividend, divisor] = [operand(a, whatA), operand(b, whatB)]
  return dividend - Math.floor(dividend / divisor) * divisor
}

export function power(a: LuaValue, b: LuaValue, whatA?: Named, whatB?: Named): number {
  return operand(a, whatA) ** operand(b, whatB)
}

export function negate(a: LuaValue, what?: Named): number {
  return -operand(a, what)
}

export function concat(a: LuaValue, b: LuaValue, whatA?: Named, whatB?: Named): string {
  if (typeof a === 'string' && typeof b === 'string') return a + b
  const [left, right] = [asText(a), asText(b)]
  if (left !== null && right !== null) return left + right
  const spoken = left === null ? spokenOf(a, whatA) : spokenOf(b, whatB)
  return raise(`attempt to concatenate ${spoken}`)
}

export function length(value: LuaValue, what?: Named): number {
  if (typeof value === 'string' || value instanceof LuaTable) return value.length
  return raise(`attempt to get length of ${spokenOf(value, what)}`)
}

export function less(a: LuaValue, b: LuaValue): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b
  return typeof a === 'string' && typeof b === 'string' ? a < b : notComparable(a, b)
}

export function lessOrEqual(a: LuaValue, b: LuaValue): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a <= b
  return typeof a === 'string' && typeof b === 'string' ? a <= b : notComparable(a, b)
}

function notComparable(a: LuaValue, b: LuaValue): never {
  const [one, other] = [typeName(a), typeName(b)]
  return raise(
    one === other ? `attempt to compare two ${one} values` : `attempt to compare ${one} with ${other}`,
  )
}

export function index(of: LuaValue, key: LuaValue, what?: Named): LuaValue {
  if (!(of instanceof LuaTable)) return indexNoTable(of, key, what)
  const value = of.get(key)
  return value === undefined && of.metatable !== null ? indexByMetatable(of, key) : value
}

/** A text has the functions of `string`. */
function indexNoTable(of: LuaValue, key: LuaValue, what: Named): LuaValue {
  if (typeof of !== 'string') return raise(`attempt to index ${spokenOf(of, what)}`)
  return typeof key === 'string' && Object.hasOwn(textLibrary, key) ? textLibrary[key] : undefined
}

function indexByMetatable(of: LuaTable, key: LuaValue): LuaValue {
  const by = of.metatable?.get('__index')
  if (by === undefined) return undefined
  return typeof by === 'function' ? one(by(of, key)) : index(by, key)
}

export function setIndex(of: LuaValue, key: LuaValue, value: LuaValue, what?: Named): void {
  if (!(of instanceof LuaTable)) return raise(`attempt to index ${spokenOf(of, what)}`)
  of.set(key, value)
}

/** What is called, if it can be. */
export function callable(value: LuaValue, what?: Named): LuaFunction {
  return typeof value === 'function' ? value : raise(`attempt to call ${spokenOf(value, what)}`)
}

/** A number that a loop counts by. */
export function bound(value: LuaValue, what: string): number {
  return typeof value === 'number'
    ? value
    : ((typeof value === 'string' ? luaNumber(value) : null) ?? raise(`'for' ${what} must be a number`))
}

/** A table of items and, key by key, fields. */
export function table(items: LuaValue[], fields: readonly LuaValue[]): LuaTable {
  const made = new LuaTable(items)
  for (let i = 0; i < fields.length; i += 2) made.set(fields[i], fields[i + 1])
  return made
}

export function list(items: LuaValue[]): LuaTable {
  return new LuaTable(items)
}

/** What `ipairs` goes through. */
export function listed(value: LuaValue): LuaTable {
  return value instanceof LuaTable ? value : refuse('ipairs', 1, `table expected, got ${typeName(value)}`)
}
