/**
 * Lua's patterns as regular expressions: both try one character class after the other, as often as they can, and go back.
 * Null for what no regular expression does: `%b`, `%f`, back references.
 */
export interface Pattern {
  /** Finds it from `lastIndex` on; exactly there when the pattern is anchored. */
  readonly expression: RegExp
  /** For each capture whether it is a position. */
  readonly positions: readonly boolean[]
}

const CLASSES: Readonly<Record<string, string>> = {
  a: 'A-Za-z',
  c: '\\x00-\\x1f\\x7f',
  d: '0-9',
  l: 'a-z',
  p: '!-\\/:-@\\[-`{-~',
  s: ' \\t\\n\\v\\f\\r',
  u: 'A-Z',
  w: '0-9A-Za-z',
  x: '0-9A-Fa-f',
  z: '\\0',
}

const QUANTIFIERS: Readonly<Record<string, string>> = { '*': '*', '+': '+', '-': '*?', '?': '?' }

const known = new Map<string, Pattern | null>()
const MOST_KNOWN = 1_000

export function patternOf(text: string): Pattern | null {
  let pattern = known.get(text)
  if (pattern === undefined) {
    pattern = new Translation(text).pattern()
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(text, pattern)
  }
  return pattern
}

class Impossible {}

class Translation {
  readonly #text: string
  readonly #positions: boolean[] = []
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  pattern(): Pattern | null {
    try {
      const anchored = this.#text.startsWith('^')
      if (anchored) this.#at = 1
      let source = ''
      while (this.#at < this.#text.length) source += this.#item()
      const indices = this.#positions.includes(true) ? 'd' : ''
      return { expression: new RegExp(source, (anchored ? 'y' : 'g') + indices), positions: this.#positions }
    } catch (error) {
      if (error instanceof Impossible || error instanceof SyntaxError) return null
      throw error
    }
  }

  #item(): string {
    const char = this.#text[this.#at] as string
    if (char === '(') {
      this.#at += 1
      const position = this.#text[this.#at] === ')'
      this.#positions.push(position)
      return '('
    }
    if (char === ')') {
      this.#at += 1
      return ')'
    }
    if (char === '$' && this.#at === this.#text.length - 1) {
      this.#at += 1
      return '$'
    }
    const single = this.#single()
    const quantifier = QUANTIFIERS[this.#text[this.#at] ?? '']
    if (quantifier === undefined) return single
    this.#at += 1
    return single + quantifier
  }

  /** What stands for one character. */
  #single(): string {
    const char = this.#text[this.#at++] as string
    if (char === '.') return '[^]'
    if (char === '[') return this.#set()
    if (char !== '%') return escaped(char)
    const letter = this.#text[this.#at++]
    if (letter === undefined || letter === 'b' || letter === 'f' || /\d/.test(letter)) throw new Impossible()
    const lower = CLASSES[letter.toLowerCase()]
    if (lower === undefined) return escaped(letter)
    return CLASSES[letter] === undefined ? `[^${lower}]` : `[${lower}]`
  }

  #set(): string {
    let source = '['
    if (this.#text[this.#at] === '^') {
      source += '^'
      this.#at += 1
    }
    for (let first = true; ; first = false) {
      const char = this.#text[this.#at++]
      if (char === undefined) throw new Impossible()
      if (char === ']' && !first) return `${source}]`
      source += this.#inSet(char)
    }
  }

  #inSet(char: string): string {
    if (char === '%') {
      const letter = this.#text[this.#at++]
      if (letter === undefined) throw new Impossible()
      const lower = CLASSES[letter.toLowerCase()]
      if (lower === undefined) return escaped(letter)
      if (CLASSES[letter] === undefined) throw new Impossible()
      return lower
    }
    const last = this.#text[this.#at + 1]
    if (this.#text[this.#at] !== '-' || last === undefined || last === ']') return escaped(char)
    this.#at += 2
    return `${escaped(char)}-${escaped(last)}`
  }
}

/** Any character as itself, inside of brackets and outside. */
function escaped(char: string): string {
  return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`
}
