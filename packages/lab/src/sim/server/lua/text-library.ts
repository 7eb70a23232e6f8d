import { ModelLacks } from '../command.ts'
import { formatG } from '../numbers.ts'
import { numberAt, textAt } from './arguments.ts'
import { raise } from './errors.ts'
import { patternOf, type Pattern } from './patterns.ts'
import { LuaTable } from './table.ts'
import { asText, isTrue, one, typeName } from './values.ts'
import type { LuaFunction, LuaValue } from './values.ts'

/** `string` of Lua 5.1. */
export const textLibrary: Readonly<Record<string, LuaFunction>> = {
  len: (...args) => textAt(args, 1, 'len').length,

  sub(...args) {
    const text = textAt(args, 1, 'sub')
    const [from, to] = slice(text, numberAt(args, 2, 'sub'), numberAt(args, 3, 'sub', -1))
    return text.slice(from, to)
  },

  byte(...args) {
    const text = textAt(args, 1, 'byte')
    const first = numberAt(args, 2, 'byte', 1)
    const [from, to] = slice(text, first, numberAt(args, 3, 'byte', first))
    if (to - from === 1) return text.charCodeAt(from)
    const codes: number[] = []
    for (let at = from; at < to; at += 1) codes.push(text.charCodeAt(at))
    return codes
  },

  char: (...args) => String.fromCharCode(...args.map((_, i) => numberAt(args, i + 1, 'char'))),
  rep: (...args) => textAt(args, 1, 'rep').repeat(Math.max(0, numberAt(args, 2, 'rep'))),
  reverse: (...args) => [...textAt(args, 1, 'reverse')].reverse().join(''),
  lower: (...args) => textAt(args, 1, 'lower').replace(/[A-Z]+/g, (upper) => upper.toLowerCase()),
  upper: (...args) => textAt(args, 1, 'upper').replace(/[a-z]+/g, (lower) => lower.toUpperCase()),
  format: (...args) => format(args),

  find(...args) {
    const [text, pattern] = [textAt(args, 1, 'find'), textAt(args, 2, 'find')]
    const from = start(args, text, 'find')
    if (isTrue(args[3])) {
      const at = text.indexOf(pattern, from)
      return at < 0 || from > text.length ? undefined : [at + 1, at + pattern.length]
    }
    const { compiled, match } = search(text, pattern, from)
    if (match === null) return undefined
    const span = [match.index + 1, match.index + match[0].length]
    return compiled.positions.length === 0 ? span : [...span, ...captures(compiled, match)]
  },

  match(...args) {
    const text = textAt(args, 1, 'match')
    const { compiled, match } = search(text, textAt(args, 2, 'match'), start(args, text, 'match'))
    if (match === null) return undefined
    return compiled.positions.length === 0 ? match[0] : captures(compiled, match)
  },

  gmatch(...args) {
    const [text, pattern] = [textAt(args, 1, 'gmatch'), textAt(args, 2, 'gmatch')]
    let at = 0
    return () => {
      if (at > text.length) return undefined
      const { compiled, match } = search(text, pattern, at)
      if (match === null) return undefined
      at = Math.max(match.index + match[0].length, match.index + (match[0] === '' ? 1 : 0))
      return compiled.positions.length === 0 ? match[0] : captures(compiled, match)
    }
  },

  gsub(...args) {
    const [text, pattern] = [textAt(args, 1, 'gsub'), textAt(args, 2, 'gsub')]
    const most = numberAt(args, 4, 'gsub', Infinity)
    let [replaced, at, count] = ['', 0, 0]
    while (count < most && at <= text.length) {
      const { compiled, match } = search(text, pattern, at)
      if (match === null) break
      count += 1
      const whole = match[0]
      replaced += text.slice(at, match.index) + replacement(args, compiled, match)
      at = match.index + whole.length
      // An empty match takes the next character along as it is.
      if (whole === '') replaced += text.slice(at, ++at)
      if (pattern.startsWith('^')) break
    }
    return [replaced + text.slice(at), count]
  },
}

/** What `gsub` puts in place of a match. */
function replacement(args: readonly LuaValue[], compiled: Pattern, match: RegExpExecArray): string {
  const by = args[2]
  const found = compiled.positions.length === 0 ? [match[0]] : captures(compiled, match)
  if (typeof by === 'function' || by instanceof LuaTable) {
    const value = typeof by === 'function' ? one(by(...found)) : by.get(found[0])
    if (!isTrue(value)) return match[0]
    return asText(value) ?? raise(`invalid replacement value (a ${typeName(value)})`)
  }
  return textAt(args, 3, 'gsub').replace(/%(.)/gs, (_, sign: string) => {
    if (!/\d/.test(sign)) return sign
    return sign === '0' ? match[0] : (asText(found[Number(sign) - 1]) ?? raise('invalid capture index'))
  })
}

/** A range as JavaScript has it, of one as Lua has it. */
function slice(text: string, first: number, last: number): [number, number] {
  const from = first < 0 ? Math.max(0, text.length + first) : Math.max(0, first - 1)
  const to = last < 0 ? text.length + last + 1 : Math.min(text.length, last)
  return [Math.trunc(from), Math.trunc(to < from ? from : to)]
}

function start(args: readonly LuaValue[], text: string, of: string): number {
  const init = numberAt(args, 3, of, 1)
  return init > 0 ? init - 1 : init < 0 ? Math.max(0, text.length + init) : 0
}

function search(
  text: string,
  pattern: string,
  from: number,
): { compiled: Pattern; match: RegExpExecArray | null } {
  const compiled = patternOf(pattern)
  if (compiled === null) throw new ModelLacks(`the Lua pattern ${pattern}`)
  const { expression } = compiled
  expression.lastIndex = Math.min(from, text.length)
  return { compiled, match: expression.exec(text) }
}

function captures({ positions }: Pattern, match: RegExpExecArray): LuaValue[] {
  return positions.map((isPosition, i) =>
    isPosition ? (match.indices?.[i + 1]?.[0] ?? 0) + 1 : (match[i + 1] ?? ''),
  )
}

const DIRECTIVE = /%([-+ #0]*)(\d*)(?:\.(\d*))?(.)/g

function format(args: readonly LuaValue[]): string {
  const template = textAt(args, 1, 'format')
  // As nearly always in our scripts.
  if (template === '%.0f') return fixed(numberAt(args, 2, 'format'), 0)
  let used = 1
  return template.replace(
    DIRECTIVE,
    (whole, flags: string, width: string, precision: string | undefined, kind: string) => {
      if (kind === '%') return '%'
      used += 1
      const places = precision === undefined ? null : Number(precision)
      return padded(converted(args, used, { kind, places, whole }), flags, Number(width), kind)
    },
  )
}

/** Decimal places without a precision, as in C. */
const PLACES = 6

function converted(
  args: readonly LuaValue[],
  index: number,
  { kind, places, whole }: { kind: string; places: number | null; whole: string },
): string {
  switch (kind) {
    case 's': {
      const text = textAt(args, index, 'format')
      return places === null ? text : text.slice(0, places)
    }
    case 'd':
    case 'i':
      return wholeText(numberAt(args, index, 'format')).padStart(places ?? 0, '0')
    case 'f':
      return fixed(numberAt(args, index, 'format'), places ?? PLACES)
    case 'g':
      return formatG(numberAt(args, index, 'format'), places === 0 ? 1 : (places ?? PLACES))
    case 'x':
      return Math.trunc(numberAt(args, index, 'format')).toString(16)
    case 'X':
      return Math.trunc(numberAt(args, index, 'format'))
        .toString(16)
        .toUpperCase()
    case 'c':
      return String.fromCharCode(numberAt(args, index, 'format'))
    default:
      throw new ModelLacks(`the directive ${whole} of string.format`)
  }
}

function padded(text: string, flags: string, width: number, kind: string): string {
  const signed = kind !== 's' && flags.includes('+') && !text.startsWith('-') ? `+${text}` : text
  if (flags.includes('-')) return signed.padEnd(width)
  if (!flags.includes('0') || kind === 's') return signed.padStart(width)
  const sign = /^[+-]/.exec(signed)?.[0] ?? ''
  return sign + signed.slice(sign.length).padStart(width - sign.length, '0')
}

const SMALLEST_INT64 = '-9223372036854775808'

/** `%d` of a floating number: cut, and what no 64 bits hold is the smallest that they hold. */
function wholeText(number: number): string {
  if (Math.abs(number) < 2 ** 63) return BigInt(Math.trunc(number)).toString()
  return SMALLEST_INT64
}

function fixed(number: number, places: number): string {
  // As nearly always.
  if (places === 0 && Number.isSafeInteger(number) && number !== 0) return String(number)
  if (!Number.isFinite(number)) return formatG(number, 1)
  if (places > 0) return number.toFixed(places)
  const cut = Math.trunc(number)
  const isHalf = Math.abs(number - cut) === 1 / 2
  const rounded = isHalf ? cut + (cut % 2 === 0 ? 0 : Math.sign(number)) : Math.round(number)
  const sign = number < 0 || Object.is(number, -0) ? '-' : ''
  return sign + BigInt(Math.abs(rounded)).toString()
}
