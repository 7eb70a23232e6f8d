import { luaNumber, luaNumberText } from './number-text.ts'
import { LuaTable } from './table.ts'

/** A function of a script, or one that scripts call. What it gives back is one value, or a list of any number of them. */
export type LuaFunction = (...args: LuaValue[]) => LuaResult

/** A value of a script: nil is undefined, and a text holds one byte a character. */
export type LuaValue = undefined | boolean | number | string | LuaTable | LuaFunction

export type LuaResult = LuaValue | readonly LuaValue[]

/** What a function gives that gives nothing. */
export const NOTHING: readonly LuaValue[] = Object.freeze([])

/** The first of what a function gave. */
export function one(result: LuaResult): LuaValue {
  return result instanceof Array ? result[0] : result
}

/** One of what a function gave, the first being 0. */
export function nth(result: LuaResult, index: number): LuaValue {
  if (result instanceof Array) return result[index]
  return index === 0 ? result : undefined
}

/** All that a function gave. */
export function all(result: LuaResult): readonly LuaValue[] {
  return result instanceof Array ? result : [result]
}

export const isTrue = (value: LuaValue): boolean => value !== undefined && value !== false

export function typeName(value: LuaValue): string {
  if (value === undefined) return 'nil'
  return value instanceof LuaTable ? 'table' : typeof value
}

/** The text of a text or a number; null for anything else. */
export function asText(value: LuaValue): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? luaNumberText(value) : null
}

/** The number of a number, or of a text that is one; null for anything else. */
export function asNumber(value: LuaValue): number | null {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? luaNumber(value) : null
}
