import { ModelLacks } from '../command.ts'
import { numberAt, refuse, textAt } from './arguments.ts'
import type { LuaFunction, LuaValue } from './values.ts'

/** `struct` of Redis: numbers and texts as bytes. */
export const structLibrary: Readonly<Record<string, LuaFunction>> = {
  pack(...args) {
    let packed = ''
    let used = 1
    for (const item of itemsOf(textAt(args, 1, 'pack'))) {
      if (item.kind === 'padding') packed += '\0'
      else if (item.kind === 'text') packed += cut(args, (used += 1), item.size)
      else packed += packWhole(numberAt(args, (used += 1), 'pack'), item)
    }
    return packed
  },

  unpack(...args) {
    const data = textAt(args, 2, 'unpack')
    let at = numberAt(args, 3, 'unpack', 1) - 1
    const values: LuaValue[] = []
    for (const item of itemsOf(textAt(args, 1, 'unpack'))) {
      // `c0` takes its length from the number before it.
      const size = item.kind === 'text' && item.size === 0 ? (values.pop() as number) : item.size
      if (at + size > data.length) refuse('unpack', 2, 'data string too short')
      if (item.kind === 'text') values.push(data.slice(at, at + size))
      else if (item.kind !== 'padding') values.push(unpackWhole(data, at, item))
      at += size
    }
    values.push(at + 1)
    return values
  },

  size: (...args) => itemsOf(textAt(args, 1, 'size')).reduce((size, item) => size + item.size, 0),
}

interface Item {
  readonly kind: 'unsigned' | 'signed' | 'text' | 'padding'
  readonly size: number
  readonly big: boolean
}

const SIZES: Readonly<Record<string, number>> = { b: 1, h: 2, l: 8, i: 4 }
const ITEM = /([<>= ])|([bBhHlLiIcx])(\d*)/y

const known = new Map<string, readonly Item[]>()

function itemsOf(format: string): readonly Item[] {
  let items = known.get(format)
  if (items === undefined) known.set(format, (items = [...parse(format)]))
  return items
}

function* parse(format: string): Iterable<Item> {
  let big = false
  ITEM.lastIndex = 0
  while (ITEM.lastIndex < format.length) {
    const found = ITEM.exec(format)
    if (found === null) throw new ModelLacks(`the struct format ${format}`)
    const [, order, letter = '', digits = ''] = found
    if (order !== undefined) {
      if (order !== ' ') big = order === '>'
    } else if (letter === 'x') yield { kind: 'padding', size: 1, big }
    else if (letter === 'c') yield { kind: 'text', size: digits === '' ? 1 : Number(digits), big }
    else {
      const size = digits === '' ? (SIZES[letter.toLowerCase()] ?? 0) : Number(digits)
      yield { kind: letter === letter.toUpperCase() ? 'unsigned' : 'signed', size, big }
    }
  }
}

/** `c0` is the whole text, `cN` its first N bytes. A text that is too short is blamed on the argument behind it, as in Redis. */
function cut(args: readonly LuaValue[], index: number, size: number): string {
  const text = textAt(args, index, 'pack')
  if (size === 0) return text
  return text.length < size ? refuse('pack', index + 1, 'string too short') : text.slice(0, size)
}

const BITS = 8
const BYTE = 2 ** BITS

function packWhole(number: number, { size, big }: Item): string {
  let rest = Math.trunc(number)
  let bytes = ''
  for (let i = 0; i < size; i++) {
    const byte = ((rest % BYTE) + BYTE) % BYTE
    const char = String.fromCharCode(byte)
    bytes = big ? char + bytes : bytes + char
    rest = (rest - byte) / BYTE
  }
  return bytes
}

function unpackWhole(data: string, at: number, { kind, size, big }: Item): number {
  let number = 0
  for (let i = 0; i < size; i++) number = number * BYTE + data.charCodeAt(big ? at + i : at + size - 1 - i)
  return kind === 'signed' && number >= 2 ** (size * BITS - 1) ? number - 2 ** (size * BITS) : number
}
