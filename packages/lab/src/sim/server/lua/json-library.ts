import { ModelLacks } from '../command.ts'
import { bytesOf, textOf } from '../reply.ts'
import { textAt } from './arguments.ts'
import { raise } from './errors.ts'
import { luaValueOf, type Plain } from './plain.ts'
import type { LuaFunction } from './values.ts'

/** `cjson` of Redis: reading only. */
export const jsonLibrary: Readonly<Record<string, LuaFunction>> = {
  decode(...args) {
    const source = textAt(args, 1, 'decode')
    let value: unknown
    try {
      value = JSON.parse(textOf(source))
    } catch {
      return raise('Expected value but found invalid token at character 1')
    }
    return luaValueOf(plainOf(value))
  },
}

function plainOf(value: unknown): Plain {
  if (typeof value === 'string') return bytesOf(value)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (Array.isArray(value)) return value.map(plainOf)
  if (value === null) throw new ModelLacks('null in cjson.decode')
  return new Map(Object.entries(value as object).map(([key, each]) => [bytesOf(key), plainOf(each)]))
}
