import { ModelLacks } from '../command.ts'
import { baseLibrary } from './base-library.ts'
import { jsonLibrary } from './json-library.ts'
import { bitLibrary, mathConstants, mathLibrary } from './math-library.ts'
import { messagePackLibrary } from './message-pack-library.ts'
import { structLibrary } from './struct-library.ts'
import { LuaTable } from './table.ts'
import { tableLibrary } from './table-library.ts'
import { textLibrary } from './text-library.ts'
import type { LuaFunction, LuaValue } from './values.ts'

type Library = Readonly<Record<string, LuaValue>>

/** What the Lua of Redis has and the model has not: who needs it shall be told, and nothing here may depend on chance. */
const LACKING: Readonly<Record<string, readonly string[]>> = {
  string: ['dump', 'gfind'],
  table: ['foreach', 'foreachi', 'maxn', 'setn'],
  math: ['random', 'randomseed', 'frexp', 'ldexp', 'modf', 'deg', 'rad', 'cosh', 'sinh', 'tanh'],
  coroutine: ['create', 'resume', 'running', 'status', 'wrap', 'yield'],
  cjson: ['encode', 'new', 'decode_max_depth', 'encode_max_depth', 'encode_sparse_array'],
  bit: ['arshift', 'rol', 'ror', 'bswap', 'tohex'],
}
const LACKING_OF_THE_BASE = ['load', 'loadstring', 'gcinfo', 'collectgarbage', 'xpcall', 'getfenv', 'setfenv']

/** What scripts have by name, besides KEYS and ARGV. Nothing of it can be changed by them. */
export function globalsWith(redis: Library): LuaTable {
  const libraries: Readonly<Record<string, Library>> = {
    string: textLibrary,
    table: tableLibrary,
    math: { ...mathLibrary, ...mathConstants },
    coroutine: {},
    struct: structLibrary,
    cjson: jsonLibrary,
    cmsgpack: messagePackLibrary,
    bit: bitLibrary,
    redis,
  }
  const globals = new LuaTable()
  for (const name of LACKING_OF_THE_BASE) globals.set(name, lacking(name))
  for (const [name, value] of Object.entries(baseLibrary)) globals.set(name, value)
  for (const [name, library] of Object.entries(libraries)) globals.set(name, tableOf(name, library))
  globals.set('_VERSION', 'Lua 5.1')
  globals.readonly = true
  return globals
}

function tableOf(name: string, library: Library): LuaTable {
  const table = new LuaTable()
  for (const each of LACKING[name] ?? []) table.set(each, lacking(`${name}.${each}`))
  for (const [each, value] of Object.entries(library)) table.set(each, value)
  table.readonly = true
  return table
}

function lacking(name: string): LuaFunction {
  return () => {
    throw new ModelLacks(`the Lua function ${name}`)
  }
}
