import { numberAt, refuse, tableAt, textAt } from './arguments.ts'
import { raise } from './errors.ts'
import { less } from './operations.ts'
import { asText, isTrue, NOTHING, one, typeName } from './values.ts'
import type { LuaFunction, LuaValue } from './values.ts'

export const tableLibrary: Readonly<Record<string, LuaFunction>> = {
  getn: (...args) => tableAt(args, 1, 'getn').length,

  concat(...args) {
    const table = tableAt(args, 1, 'concat')
    const between = args[1] === undefined ? '' : textAt(args, 2, 'concat')
    const first = numberAt(args, 3, 'concat', 1)
    const last = numberAt(args, 4, 'concat', table.length)
    let text = ''
    for (let i = first; i <= last; i += 1) {
      const value = table.get(i)
      const part = asText(value)
      if (part === null) raise(`invalid value (${typeName(value)}) at index ${i} in table for 'concat'`)
      text += i < last ? part + between : part
    }
    return text
  },

  insert(...args) {
    const table = tableAt(args, 1, 'insert')
    const end = table.length + 1
    if (args.length === 2) table.set(end, args[1])
    else if (args.length === 3) {
      const place = numberAt(args, 2, 'insert')
      for (let i = Math.max(end, place); i > place; i -= 1) table.set(i, table.get(i - 1))
      table.set(place, args[2])
    } else raise("wrong number of arguments to 'insert'")
    return NOTHING
  },

  remove(...args) {
    const table = tableAt(args, 1, 'remove')
    const end = table.length
    const place = numberAt(args, 2, 'remove', end)
    if (place < 1 || place > end) return NOTHING
    const removed = table.get(place)
    for (let i = place; i < end; i += 1) table.set(i, table.get(i + 1))
    table.set(end, undefined)
    return removed
  },

  sort(...args) {
    const table = tableAt(args, 1, 'sort')
    const [, by] = args
    if (by !== undefined && typeof by !== 'function')
      refuse('sort', 2, `function expected, got ${typeName(by)}`)
    const isLess = by === undefined ? less : (a: LuaValue, b: LuaValue) => isTrue(one(by(a, b)))
    const sorted = [...table.array].sort((a, b) => (isLess(a, b) ? -1 : isLess(b, a) ? 1 : 0))
    sorted.forEach((value, i) => table.set(i + 1, value))
    return NOTHING
  },
}
