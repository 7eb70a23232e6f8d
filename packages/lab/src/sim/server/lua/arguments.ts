import { place, raise } from './errors.ts'
import { LuaTable } from './table.ts'
import { asNumber, asText, typeName, type LuaValue } from './values.ts'

/** Reads what a script hands to a function of a library. `args` are all of them, `index` counts from 1, `of` names the function. */

/** Ends the running function with an error about one of its arguments. */
export function refuse(of: string, index: number, problem: string): never {
  // What `pcall` calls has no name.
  return raise(`bad argument #${index} to '${place().prefix === '' ? '?' : of}' (${problem})`)
}

function wrongType(args: readonly LuaValue[], index: number, of: string, expected: string): never {
  const found = index > args.length ? 'no value' : typeName(args[index - 1])
  return refuse(of, index, `${expected} expected, got ${found}`)
}

export function textAt(args: readonly LuaValue[], index: number, of: string): string {
  const value = args[index - 1]
  return typeof value === 'string' ? value : (asText(value) ?? wrongType(args, index, of, 'string'))
}

export function numberAt(args: readonly LuaValue[], index: number, of: string, otherwise?: number): number {
  const value = args[index - 1]
  if (typeof value === 'number') return value
  if (otherwise !== undefined && value === undefined) return otherwise
  return asNumber(value) ?? wrongType(args, index, of, 'number')
}

export function tableAt(args: readonly LuaValue[], index: number, of: string): LuaTable {
  const value = args[index - 1]
  return value instanceof LuaTable ? value : wrongType(args, index, of, 'table')
}
