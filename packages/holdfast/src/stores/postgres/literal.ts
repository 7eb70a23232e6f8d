/**
 * A text as a literal of a statement: right whatever `standard_conforming_strings` says. Postgres cannot keep the character NUL in
 * a text; it is written as two others, and {@link readText} makes one of them again.
 */
export function literal(text: string | null): string {
  if (text === null) return 'NULL'
  // eslint-disable-next-line no-control-regex
  const kept = /[\u0000\u0001]/.test(text) ? text.replace(/[\u0000\u0001]/g, escapeNul) : text
  const quoted = kept.replaceAll("'", "''")
  return quoted.includes('\\') ? `E'${quoted.replaceAll('\\', '\\\\')}'` : `'${quoted}'`
}

/** Several texts, separated by commas. */
export function literals(texts: readonly string[]): string {
  return texts.map(literal).join(', ')
}

/** Reads back what was written by {@link literal}. */
export function readText(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.includes('\u0001') ? text.replace(/\u0001([01])/g, unescapeNul) : text
}

function escapeNul(character: string): string {
  return character === '\u0000' ? '\u00010' : '\u00011'
}

function unescapeNul(_pair: string, digit: string): string {
  return digit === '0' ? '\u0000' : '\u0001'
}
