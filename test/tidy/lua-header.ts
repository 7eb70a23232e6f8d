/** The header of a Lua script, and what the script uses of what it declares. */

export interface Declared {
  /** Entries that are there once. */
  readonly fixed: readonly string[]
  /** Entries that are there for each item of the call. */
  readonly perItem: readonly string[]
}

export interface Header {
  /** What the script does, in words. */
  readonly summary: string
  readonly keys: Declared
  readonly args: Declared
  readonly reply: string
}

/** Lines of the comment that a file begins with, without the dashes. */
export function leadingComment(text: string): string[] {
  const lines: string[] = []
  for (const line of text.split('\n')) {
    if (!line.startsWith('--') || line.startsWith('---')) break
    lines.push(line.slice(2).trim())
  }
  return lines
}

/** @throws when the file does not begin with a summary, `KEYS:`, `ARGV:` and `Reply:` */
export function parseHeader(text: string): Header {
  const lines = leadingComment(text)
  const part = (label: string): string => {
    const line = lines.find((candidate) => candidate.startsWith(`${label}:`))
    if (line === undefined) throw new Error(`the header has no line "-- ${label}: …"`)
    return line.slice(label.length + 1).trim()
  }
  const summary = lines[0] ?? ''
  if (summary === '' || /^(KEYS|ARGV|Reply):/.test(summary))
    throw new Error('the header does not begin with what it does')
  return {
    summary,
    keys: parseDeclared(part('KEYS')),
    args: parseDeclared(part('ARGV')),
    reply: part('Reply'),
  }
}

/** `none`, `a, b`, `per item: a, b` or `a, then per item: b, c`. */
function parseDeclared(text: string): Declared {
  const [, once = '', each = ''] = /^(.*?)(?:(?:^|,\s*then )per item:\s*(.*))?$/.exec(text) ?? []
  const names = (list: string) =>
    list
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && name !== 'none')
  return { fixed: names(once), perItem: names(each) }
}

/** Lua without comments and without the contents of strings. */
export function codeOf(text: string): string {
  return text.replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''").replace(/--[^\n]*/g, '')
}

/**
 * What is wrong between the header and the use of KEYS or ARGV. Every index must be arithmetic over numbers, the item
 * `i`, and locals that are such arithmetic; then it can be worked out for the first and for the second item.
 */
export function misuses(table: 'KEYS' | 'ARGV', declared: Declared, code: string): string[] {
  const { fixed, perItem } = declared
  const indexes = [...code.matchAll(new RegExp(`\\b${table}\\[([^\\]]*)\\]`, 'g'))].map(
    ([, index]) => index ?? '',
  )
  const locals = localArithmetic(code)
  const problems: string[] = []
  const used = new Set<number>()
  const allowed = new Set<number>()
  for (let n = 1; n <= fixed.length; n++) allowed.add(n)
  for (const item of [1, 2]) {
    for (let n = 1; n <= perItem.length; n++) allowed.add(fixed.length + (item - 1) * perItem.length + n)
    for (const index of indexes) {
      const position = evaluate(index, locals, item)
      if (position === null)
        problems.push(`${table}[${index}] cannot be worked out from numbers, i and locals`)
      else used.add(position)
    }
  }
  for (const n of allowed) if (!used.has(n)) problems.push(`${table}[${n}] is declared and not used`)
  for (const n of used) if (!allowed.has(n)) problems.push(`${table}[${n}] is used and not declared`)
  return [...new Set(problems), ...miscounts(table, declared, code, locals)]
}

/** Loops over the items must end with the last one: `#KEYS` is worked out for three items. */
function miscounts(
  table: string,
  { fixed, perItem }: Declared,
  code: string,
  locals: Map<string, string>,
): string[] {
  const items = 3
  const length = fixed.length + perItem.length * items
  const pattern = new RegExp(`(?:=|,)\\s*([^=,\\n]*#${table}[^,\\n]*?)(?:\\s+do\\b|$)`, 'gm')
  return [...code.matchAll(pattern)].flatMap(([, count = '']) => {
    const worked = evaluate(count.replaceAll(`#${table}`, String(length)), locals, items)
    return worked === items ? [] : [`"${count.trim()}" is ${worked ?? 'unknown'} for ${items} items`]
  })
}

/** `local a, b = 1, 2 * i`: name to expression, for those that are arithmetic. */
function localArithmetic(code: string): Map<string, string> {
  const locals = new Map<string, string>()
  for (const [, names = '', values = ''] of code.matchAll(/\blocal ([\w, ]+?)\s*=\s*([^\n]+)/g)) {
    const parts = splitAtCommas(values)
    names.split(',').forEach((name, n) => {
      const value = parts[n]?.trim()
      if (value !== undefined && /^[\w\s+\-*/()]+$/.test(value) && !/\b[a-zA-Z]\w*\s*\(/.test(value)) {
        locals.set(name.trim(), value)
      }
    })
  }
  locals.delete('i')
  return locals
}

function splitAtCommas(text: string): string[] {
  const parts = ['']
  let depth = 0
  for (const character of text) {
    if ('([{'.includes(character)) depth++
    if (')]}'.includes(character)) depth--
    if (character === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts
}

/** The value of an arithmetic expression, or null when it is something else. */
function evaluate(expression: string, locals: Map<string, string>, item: number): number | null {
  let text = expression
  for (let rounds = 0; rounds < 10 && /[a-zA-Z_]/.test(text); rounds++) {
    text = text.replace(/[a-zA-Z_]\w*/g, (name) =>
      name === 'i' ? String(item) : `(${locals.get(name) ?? '?'})`,
    )
  }
  const tokens = text.match(/\d+|[+\-*/()]|\S/g) ?? []
  const value = sum(tokens)
  return tokens.length === 0 && Number.isInteger(value) ? value : null
}

/** Reads a sum from the front of the tokens; NaN when there is none. */
function sum(tokens: string[]): number {
  let value = product(tokens)
  while (tokens[0] === '+' || tokens[0] === '-')
    value += tokens.shift() === '+' ? product(tokens) : -product(tokens)
  return value
}

function product(tokens: string[]): number {
  let value = atom(tokens)
  while (tokens[0] === '*' || tokens[0] === '/')
    value = tokens.shift() === '*' ? value * atom(tokens) : value / atom(tokens)
  return value
}

function atom(tokens: string[]): number {
  const token = tokens.shift()
  if (token === '-') return -atom(tokens)
  if (token !== '(') return token === undefined ? NaN : Number(token)
  const value = sum(tokens)
  return tokens.shift() === ')' ? value : NaN
}

/** Calls whose first key is written out or put together in the script, and so is none of KEYS. */
export function madeUpKeys(text: string): string[] {
  const calls = text
    .split('\n')
    .filter((line) => !line.trim().startsWith('--'))
    .join('\n')
    .matchAll(/redis\.p?call\(\s*'([A-Z]+)'\s*,\s*([^,)\n]+)/g)
  return [...calls]
    .filter(
      ([, command = '', key = '']) =>
        command !== 'PUBLISH' &&
        !/^[a-zA-Z_]\w*$|^[a-zA-Z_]\w*\[.*\]$|^unpack\([a-zA-Z_]\w*$/.test(key.trim()),
    )
    .map(([call]) => call)
}
