/** The text in a row's first column, whatever the client calls it; empty when there is none. */
export function firstColumn(row: unknown): string {
  const [first] = Object.values((row ?? {}) as Record<string, unknown>)
  return typeof first === 'string' ? first : ''
}
