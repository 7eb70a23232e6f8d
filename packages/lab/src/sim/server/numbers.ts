/** Numbers as C reads and writes them. */

const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/
const FLOAT = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|0x[\da-f]+|inf(?:inity)?)$/i
const LARGEST_INT64 = 2n ** 63n - 1n
const SMALLEST_INT64 = -(2n ** 63n)

/** A whole number as Redis reads them: nothing but digits and a minus. Inexact beyond 2^53. */
export function integerOf(text: string): number | null {
  const exact = int64Of(text)
  return exact === null ? null : Number(exact)
}

/** The same, exact; a number where that is. */
function int64Of(text: string): number | bigint | null {
  if (!INTEGER.test(text)) return null
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : int64(BigInt(text))
}

const int64 = (number: bigint): bigint | null =>
  number >= SMALLEST_INT64 && number <= LARGEST_INT64 ? number : null

/** The sum of such a number and another: its text and its value. Null for what is none, `overflow` for what 64 bits do not hold. */
export function sumOf(text: string, by: number): { text: string; value: number } | 'overflow' | null {
  const number = int64Of(text)
  if (number === null) return null
  const sum = int64(BigInt(number) + BigInt(by))
  return sum === null ? 'overflow' : { text: sum.toString(), value: Number(sum) }
}

/** A floating number as `strtod` reads it, when it is the whole text. `nan` is none. */
export function floatOf(text: string): number | null {
  if (!FLOAT.test(text)) return null
  const unsigned = text.replace(/^[+-]/, '')
  const size = /^inf/i.test(unsigned) ? Infinity : Number(unsigned)
  return text.startsWith('-') ? -size : size
}

const LEAST_EXPONENT = -4

/** What `%.{precision}g` writes. */
export function formatG(number: number, precision: number): string {
  if (Number.isSafeInteger(number) && Math.abs(number) < 10 ** Math.min(precision, 15))
    return Object.is(number, -0) ? '-0' : String(number)
  if (Number.isNaN(number)) return 'nan'
  if (!Number.isFinite(number)) return number > 0 ? 'inf' : '-inf'
  const sign = number < 0 ? '-' : ''
  const { digits, exponent } = roundedDigits(Math.abs(number), precision)
  if (exponent >= LEAST_EXPONENT && exponent < 0)
    return sign + withoutZeros(`0.${'0'.repeat(-exponent - 1)}${digits}`)
  if (exponent >= 0 && exponent < precision)
    return sign + withoutZeros(`${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`)
  const mantissa = withoutZeros(`${digits.slice(0, 1)}.${digits.slice(1)}`)
  return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/** So many that a number in the middle between two shows itself as such. */
const MANY_DIGITS = 100

/** The first digits of a number, rounded; in the middle to the even one, as C does and JavaScript does not. */
function roundedDigits(number: number, count: number): { digits: string; exponent: number } {
  const all = scientific(number, MANY_DIGITS)
  const rounded = scientific(number, count - 1)
  const isMiddle = /^50*$/.test(all.digits.slice(count))
  const isEven = Number(all.digits[count - 1]) % 2 === 0
  return isMiddle && isEven ? { ...all, digits: all.digits.slice(0, count) } : rounded
}

function scientific(number: number, places: number): { digits: string; exponent: number } {
  const [mantissa = '', exponent = '0'] = number.toExponential(places).split('e')
  return { digits: mantissa.replace('.', ''), exponent: Number(exponent) }
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0*$/, '') : text
}
