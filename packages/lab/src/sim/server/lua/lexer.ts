import { LuaError } from './errors.ts'
import { CHUNK } from './errors.ts'

export type Token =
  | { readonly kind: 'name' | 'word' | 'end'; readonly text: string; readonly line: number }
  | { readonly kind: 'text'; readonly text: string; readonly value: string; readonly line: number }
  | { readonly kind: 'number'; readonly text: string; readonly value: number; readonly line: number }

const KEYWORDS: ReadonlySet<string> = new Set(
  `and break do else elseif end false for function if in local nil not or repeat return then true until while`.split(
    ' ',
  ),
)

const SPACE = /[ \t\r\v\f]+/y
const NAME = /[A-Za-z_]\w*/y
/** What Lua takes for a number until it looks closer. */
const NUMBER = /\.?\d(?:[eE][+-]|[\w.])*/y
const PROPER_NUMBER = /^(?:0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)$/
const SIGN = /\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}[\];:,.]/y
const LONG = /\[(=*)\[/y
const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** The words of a script of Lua 5.1. */
export function tokensOf(source: string): Token[] {
  const lexer = new Lexer(source)
  const tokens: Token[] = []
  for (;;) {
    const token = lexer.next()
    tokens.push(token)
    if (token.kind === 'end') return tokens
  }
}

/** What is wrong with a script's text. */
export function syntaxError(line: number, problem: string): never {
  throw new LuaError(`${CHUNK}:${line}: ${problem}`, { line, prefix: '' })
}

class Lexer {
  readonly #source: string
  #at = 0
  #line = 1

  constructor(source: string) {
    this.#source = source
  }

  next(): Token {
    this.#pass()
    const line = this.#line
    const char = this.#source[this.#at]
    if (char === undefined) return { kind: 'end', text: '<eof>', line }
    const name = this.#take(NAME)
    if (name !== null) return { kind: KEYWORDS.has(name) ? 'word' : 'name', text: name, line }
    const number = this.#take(NUMBER)
    if (number !== null) {
      if (!PROPER_NUMBER.test(number)) return syntaxError(line, `malformed number near '${number}'`)
      return { kind: 'number', text: number, value: Number(number), line }
    }
    if (char === '"' || char === "'") {
      const from = this.#at
      const value = this.#quoted(char)
      return { kind: 'text', text: this.#source.slice(from, this.#at), value, line }
    }
    const from = this.#at
    const long = this.#long()
    if (long !== null) return { kind: 'text', text: this.#source.slice(from, this.#at), value: long, line }
    const sign = this.#take(SIGN)
    return sign === null
      ? syntaxError(line, `unexpected symbol near '${char}'`)
      : { kind: 'word', text: sign, line }
  }

  /** Spaces, line ends and comments. */
  #pass(): void {
    for (;;) {
      this.#take(SPACE)
      if (this.#source[this.#at] === '\n') {
        this.#line += 1
        this.#at += 1
      } else if (this.#source.startsWith('--', this.#at)) {
        this.#at += 2
        if (this.#long() !== null) continue
        const end = this.#source.indexOf('\n', this.#at)
        this.#at = end === -1 ? this.#source.length : end
      } else return
    }
  }

  #take(expression: RegExp): string | null {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#source)?.[0] ?? null
    if (found !== null) this.#at += found.length
    return found
  }

  /** A text in long brackets, if one begins here. */
  #long(): string | null {
    const open = this.#take(LONG)
    if (open === null) return null
    const close = `]${'='.repeat(open.length - 2)}]`
    const end = this.#source.indexOf(close, this.#at)
    if (end === -1) return syntaxError(this.#line, "unfinished long string near '<eof>'")
    const text = this.#source.slice(this.#at, end)
    this.#at = end + close.length
    this.#line += text.split('\n').length - 1
    return text.startsWith('\n') ? text.slice(1) : text
  }

  #quoted(quote: string): string {
    const from = this.#at
    let text = ''
    for (this.#at += 1; ;) {
      const char = this.#source[this.#at++]
      if (char === quote) return text
      if (char === undefined) return syntaxError(this.#line, "unfinished string near '<eof>'")
      if (char === '\n')
        return syntaxError(this.#line, `unfinished string near '${this.#source.slice(from, this.#at - 1)}'`)
      text += char === '\\' ? this.#escape() : char
    }
  }

  #escape(): string {
    const digits = this.#take(/\d{1,3}/y)
    if (digits !== null) {
      if (Number(digits) > 255) return syntaxError(this.#line, `escape sequence too large near '\\${digits}'`)
      return String.fromCharCode(Number(digits))
    }
    const char = this.#source[this.#at++] ?? ''
    if (char === '\n') this.#line += 1
    return ESCAPES[char] ?? char
  }
}
