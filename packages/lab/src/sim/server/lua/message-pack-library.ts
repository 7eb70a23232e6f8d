import { ModelLacks } from '../command.ts'
import { textAt } from './arguments.ts'
import { raise } from './errors.ts'
import { luaValueOf, type Plain } from './plain.ts'
import { LuaTable } from './table.ts'
import type { LuaFunction, LuaValue } from './values.ts'

/** `cmsgpack` of Redis, for values that are no deeper than a reply. */
export const messagePackLibrary: Readonly<Record<string, LuaFunction>> = {
  pack: (...args) => args.map(packed).join(''),

  unpack(...args) {
    const reader = new Reader(textAt(args, 1, 'unpack'))
    const values: LuaValue[] = []
    while (!reader.ended) {
      const value = reader.value()
      if (value === undefined) return raise('Missing bytes in input.')
      values.push(luaValueOf(value))
    }
    return values
  },
}

const NIL_BYTE = '\xc0'
const FALSE_BYTE = '\xc2'
const TRUE_BYTE = '\xc3'

function packed(value: LuaValue): string {
  if (typeof value === 'string') return packedText(value)
  if (typeof value === 'number') return packedNumber(value)
  if (typeof value === 'boolean') return value ? TRUE_BYTE : FALSE_BYTE
  if (value === undefined) return NIL_BYTE
  if (value instanceof LuaTable) return packedTable(value)
  throw new ModelLacks('functions in cmsgpack.pack')
}

function packedText(text: string): string {
  const { length } = text
  if (length < 32) return byte(0xa0 | length) + text
  if (length <= 0xff) return `\xd9${whole(length, 1)}${text}`
  return (length <= 0xffff ? `\xda${whole(length, 2)}` : `\xdb${whole(length, 4)}`) + text
}

function packedNumber(number: number): string {
  if (!Number.isInteger(number) || Math.abs(number) >= 2 ** 63) return packedFloat(number)
  if (number >= 0) {
    if (number <= 0x7f) return byte(number)
    if (number <= 0xff) return `\xcc${whole(number, 1)}`
    if (number <= 0xffff) return `\xcd${whole(number, 2)}`
    return number <= 0xffffffff ? `\xce${whole(number, 4)}` : `\xcf${whole(number, 8)}`
  }
  if (number >= -32) return byte(0x100 + number)
  if (number >= -0x80) return `\xd0${whole(number, 1)}`
  if (number >= -0x8000) return `\xd1${whole(number, 2)}`
  return number >= -0x80000000 ? `\xd2${whole(number, 4)}` : `\xd3${whole(number, 8)}`
}

function packedFloat(number: number): string {
  const short = Math.fround(number) === number
  const bytes = Buffer.alloc(short ? 4 : 8)
  if (short) bytes.writeFloatBE(number)
  else bytes.writeDoubleBE(number)
  return (short ? '\xca' : '\xcb') + bytes.toString('latin1')
}

function packedTable(table: LuaTable): string {
  const pairs = table.pairs()
  const isList = pairs.every(
    ([key]) => typeof key === 'number' && Number.isInteger(key) && key > 0 && key <= pairs.length,
  )
  if (!isList) {
    const body = pairs.map(([key, value]) => packed(key) + packed(value)).join('')
    return head(0x80, '\xde', '\xdf', pairs.length) + body
  }
  pairs.sort(([a], [b]) => (a as number) - (b as number))
  return head(0x90, '\xdc', '\xdd', pairs.length) + pairs.map(([, value]) => packed(value)).join('')
}

function head(few: number, some: string, many: string, count: number): string {
  if (count <= 0xf) return byte(few | count)
  return count <= 0xffff ? some + whole(count, 2) : many + whole(count, 4)
}

const byte = (code: number): string => String.fromCharCode(code)

/** A whole number in so many bytes, the highest first; negative ones as two's complement. */
function whole(number: number, size: number): string {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt.asIntN(64, BigInt(number)))
  return bytes.toString('latin1', 8 - size)
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(text: string) {
    this.#bytes = Buffer.from(text, 'latin1')
  }

  get ended(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** Undefined when the bytes end too early. */
  value(): Plain | undefined {
    try {
      return this.#value()
    } catch (error) {
      if (error instanceof RangeError) return undefined
      throw error
    }
  }

  #value(): Plain {
    const type = this.#unsigned(1)
    if (type <= 0x7f) return type
    if (type >= 0xe0) return type - 0x100
    if (type <= 0x8f) return this.#map(type & 0xf)
    if (type <= 0x9f) return this.#list(type & 0xf)
    if (type <= 0xbf) return this.#text(type & 0x1f)
    return this.#long(type)
  }

  #long(type: number): Plain {
    switch (type) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xca:
        return this.#take(4).readFloatBE()
      case 0xcb:
        return this.#take(8).readDoubleBE()
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return this.#unsigned(1 << (type - 0xcc))
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return this.#signed(1 << (type - 0xd0))
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#unsigned(1 << (type - 0xd9)))
      case 0xdc:
      case 0xdd:
        return this.#list(this.#unsigned(2 << (type - 0xdc)))
      case 0xde:
      case 0xdf:
        return this.#map(this.#unsigned(2 << (type - 0xde)))
      default:
        throw new ModelLacks(`the type ${type.toString(16)} in cmsgpack.unpack`)
    }
  }

  #list(count: number): Plain {
    return Array.from({ length: count }, () => this.#value())
  }

  #map(count: number): Plain {
    const map = new Map<Plain, Plain>()
    for (let i = 0; i < count; i++) {
      const key = this.#value()
      map.set(key, this.#value())
    }
    return map
  }

  #text(length: number): string {
    return this.#take(length).toString('latin1')
  }

  #unsigned(size: number): number {
    const bytes = this.#take(size)
    return size === 8 ? Number(bytes.readBigUInt64BE()) : bytes.readUIntBE(0, size)
  }

  #signed(size: number): number {
    const bytes = this.#take(size)
    return size === 8 ? Number(bytes.readBigInt64BE()) : bytes.readIntBE(0, size)
  }

  #take(size: number): Buffer {
    if (this.#at + size > this.#bytes.length) throw new RangeError('too short')
    this.#at += size
    return this.#bytes.subarray(this.#at - size, this.#at)
  }
}
