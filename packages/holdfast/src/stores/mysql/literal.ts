/** A text as a literal: the bytes of its UTF-8, right whatever the connection's character set and SQL mode are. */
export function literal(text: string | null): string {
  return text === null ? 'NULL' : `X'${Buffer.from(text, 'utf8').toString('hex')}'`
}

/** Several texts, separated by commas. */
export function literals(texts: readonly string[]): string {
  return texts.map(literal).join(', ')
}
