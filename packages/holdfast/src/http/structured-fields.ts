/** Structured fields (RFC 9651, formerly RFC 8941), as far as the RateLimit fields need them. */

/** Integers have at most fifteen digits. */
const GREATEST_INTEGER = 999_999_999_999_999

/** One member of a list: a String with parameters, in their order. Parameters that are `null` are left out. */
export function listMember(
  name: string,
  parameters: Readonly<Record<string, number | string | Uint8Array | null>>,
): string {
  let member = stringItem(name)
  for (const [key, value] of Object.entries(parameters)) {
    if (value === null) continue
    member += `;${key}=`
    if (typeof value === 'number') member += integerItem(value)
    else
      member += typeof value === 'string' ? stringItem(value) : `:${Buffer.from(value).toString('base64')}:`
  }
  return member
}

/** A whole number in the range that a field can hold. */
export function integerItem(value: number): string {
  return String(Math.min(GREATEST_INTEGER, Math.max(0, Math.floor(value))))
}

function stringItem(text: string): string {
  return `"${printable(text).replace(/["\\]/g, '\\$&')}"`
}

/** A String holds printable ASCII only; everything else is percent-encoded UTF-8. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]+/gu, (characters) => {
    let encoded = ''
    for (const byte of Buffer.from(characters, 'utf8'))
      encoded += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    return encoded
  })
}
