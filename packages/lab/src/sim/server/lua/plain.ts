import { LuaTable } from './table.ts'
import type { LuaValue } from './values.ts'

/** Values between JavaScript and a script: texts hold one byte a character, a `Map` is a table with other keys than 1, 2, 3 … */
export type Plain = string | number | boolean | null | readonly Plain[] | ReadonlyMap<Plain, Plain>

export function luaValueOf(value: Plain): LuaValue {
  if (typeof value !== 'object') return value
  if (value === null) return undefined
  const table = new LuaTable()
  if (value instanceof Map) {
    for (const [key, each] of value as ReadonlyMap<Plain, Plain>) table.set(luaValueOf(key), luaValueOf(each))
  } else for (const [i, each] of (value as readonly Plain[]).entries()) table.set(i + 1, luaValueOf(each))
  return table
}
