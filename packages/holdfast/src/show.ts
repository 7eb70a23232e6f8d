const SECRET = /pass|pwd|secret|token|credential|auth|private|api_?key/i

/** Errors end in logs: what looks like a secret is not shown. */
function withoutSecrets(name: string, value: unknown): unknown {
  if (SECRET.test(name)) return '…'
  return typeof value === 'string' ? withoutPassword(value) : value
}

/** A URL without its password. */
function withoutPassword(text: string): string {
  return text.replace(/(\/\/[^\s/:@]*:)[^\s/@]+@/g, '$1…@')
}

/** What kind of thing a value is, for things that may hold secrets. */
export function kindOf(value: unknown): string {
  if (typeof value === 'string') return 'a text'
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  const { name } = (value as { constructor?: { name?: unknown } }).constructor ?? {}
  return typeof name === 'string' && name !== '' && name !== 'Object' ? `an object of ${name}` : 'an object'
}

/** Whether it is an object of a class, as a client or a pool: what is in there says nothing to whom reads the error. */
function isOpaque(value: unknown): boolean {
  const isObject = typeof value === 'object' && value !== null
  return isObject && !Array.isArray(value) && !('toJSON' in value) && kindOf(value) !== 'an object'
}

/** What an object calls itself; there are those of which nothing can be read at all. */
function tagOf(value: unknown): string {
  try {
    return Object.prototype.toString.call(value)
  } catch {
    return 'an object'
  }
}

/** Writes a value for an error message: short, on one line, never throwing. */
export function show(value: unknown): string {
  let text: string
  try {
    if (typeof value === 'string') text = JSON.stringify(withoutPassword(value))
    else if (typeof value === 'bigint') text = `${value}n`
    else if (typeof value === 'function') text = `function ${value.name}`
    else if (isOpaque(value)) text = kindOf(value)
    else if (typeof value === 'object' && value !== null)
      text = JSON.stringify(value, withoutSecrets) ?? Object.prototype.toString.call(value)
    else text = String(value)
  } catch {
    text = tagOf(value)
  }
  return text.length > 120 ? `${text.slice(0, 117)}…` : text
}
