import { formatG } from '../numbers.ts'

/** Digits with which Lua writes numbers. */
const LUA_DIGITS = 14

export const luaNumberText = (number: number): string => formatG(number, LUA_DIGITS)

const SPACES = /^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const SPECIAL = /^([+-]?)(?:(nan)|inf(?:inity)?|(0x[\da-f]+))$/i

/** As nearly always. */
function isPlainDigits(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 48 || code > 57) return false
  }
  return text.length > 0
}

/** A number as `strtod` reads it: Lua 5.1 does not refuse nan and inf. */
export function luaNumber(text: string): number | null {
  if (isPlainDigits(text)) return Number(text)
  const number = text.replace(SPACES, '')
  if (DECIMAL.test(number)) return Number(number)
  const [, sign, nan, hex] = SPECIAL.exec(number) ?? []
  if (sign === undefined) return null
  const size = nan !== undefined ? NaN : hex === undefined ? Infinity : Number(hex)
  return sign === '-' ? -size : size
}
