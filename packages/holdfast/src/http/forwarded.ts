/**
 * Reads the headers by which proxies tell for whom they ask: `X-Forwarded-For` (a convention) and `Forwarded` (RFC 7239).
 * Both are lists to which each proxy appends its own peer, so the rightmost entry is the one that the nearest proxy wrote.
 * Whatever stands left of what a trusted proxy wrote may be made up. Nothing here throws, and all is linear.
 */

/** The entries of `X-Forwarded-For`, from left to right, trimmed. Empty ones are none (RFC 9110, 5.6.1.2). */
export function readXForwardedFor(value: string): string[] {
  return value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

/**
 * The `for` of each element of `Forwarded`, from left to right; `''` where an element has none.
 *
 * @returns `null` when a quotation does not end: then what a client wrote might swallow what the proxy appended
 */
export function readForwarded(value: string): string[] | null {
  const elements = splitOutsideQuotes(value, ',')
  return elements === null ? null : elements.filter((element) => element.trim() !== '').map(forOf)
}

function forOf(element: string): string {
  for (const pair of splitOutsideQuotes(element, ';') ?? []) {
    const at = pair.indexOf('=')
    if (at !== -1 && pair.slice(0, at).trim().toLowerCase() === 'for')
      return unquote(pair.slice(at + 1).trim())
  }
  return ''
}

function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] | null {
  const parts: string[] = []
  let start = 0
  let quoted = false
  for (let n = 0; n < text.length; n += 1) {
    const character = text[n]
    if (quoted && character === '\\') n += 1
    else if (character === '"') quoted = !quoted
    else if (character === separator && !quoted) {
      parts.push(text.slice(start, n))
      start = n + 1
    }
  }
  if (quoted) return null
  parts.push(text.slice(start))
  return parts
}

function unquote(text: string): string {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return text
  return text.slice(1, -1).replace(/\\(.)/g, '$1')
}
