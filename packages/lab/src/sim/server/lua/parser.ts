import { syntaxError, tokensOf, type Token } from './lexer.ts'
import type { Block, Call, Expression, FunctionBody, Statement, Variable } from './syntax.ts'

/** How close operators bind their left and right sides. */
const BINDING: Readonly<Record<string, readonly [left: number, right: number]>> = {
  or: [1, 1],
  and: [2, 2],
  '<': [3, 3],
  '>': [3, 3],
  '<=': [3, 3],
  '>=': [3, 3],
  '~=': [3, 3],
  '==': [3, 3],
  '..': [5, 4],
  '+': [6, 6],
  '-': [6, 6],
  '*': [7, 7],
  '/': [7, 7],
  '%': [7, 7],
  '^': [10, 9],
}
const UNARY_BINDING = 8
const ENDS_BLOCK: ReadonlySet<string> = new Set(['<eof>', 'end', 'else', 'elseif', 'until'])

/**
 * Reads a script of Lua 5.1.
 *
 * @throws LuaError when it is none: its value is what Lua says
 */
export function parse(source: string): FunctionBody {
  return new Parser(tokensOf(source)).chunk()
}

class Parser {
  readonly #tokens: readonly Token[]
  #at = 0
  #depth = 0
  #count = 0
  /** What each name means here. */
  #scope: Map<string, Variable>[] = []
  #hasRest = true
  /** How many loops of the function this stands in. */
  #loops = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  chunk(): FunctionBody {
    const body = this.#block()
    if (this.#token.kind !== 'end') this.#expected('<eof>')
    return { parameters: [], hasRest: true, body }
  }

  get #token(): Token {
    return this.#tokens[this.#at] as Token
  }

  get #line(): number {
    return this.#token.line
  }

  /** Whether the next word is this one, which is no name and no text. */
  #is(text: string): boolean {
    const { kind, text: found } = this.#token
    return (kind === 'word' || kind === 'end') && found === text
  }

  #take(text: string): boolean {
    const is = this.#is(text)
    if (is) this.#at += 1
    return is
  }

  #must(text: string): void {
    if (!this.#take(text)) this.#expected(text)
  }

  #expected(text: string): never {
    return syntaxError(this.#line, `'${text}' expected near '${this.#token.text}'`)
  }

  #name(): string {
    const { kind, text } = this.#token
    if (kind !== 'name') return syntaxError(this.#line, `'<name>' expected near '${text}'`)
    this.#at += 1
    return text
  }

  #variable(name: string, is: Variable['is'] = null): Variable {
    this.#count += 1
    return { name, id: this.#count, depth: this.#depth, changes: false, is }
  }

  #declare(variable: Variable): void {
    this.#scope.at(-1)?.set(variable.name, variable)
  }

  #find(name: string): Variable | undefined {
    return this.#scope.findLast((names) => names.has(name))?.get(name)
  }

  /** A block with variables of its own. */
  #block(...variables: readonly Variable[]): Block {
    return this.#scoped(variables, () => this.#statements())
  }

  #scoped<T>(variables: readonly Variable[], read: () => T): T {
    this.#scope.push(new Map())
    for (const variable of variables) this.#declare(variable)
    const result = read()
    this.#scope.pop()
    return result
  }

  #statements(): Statement[] {
    const statements: Statement[] = []
    while (!ENDS_BLOCK.has(this.#token.text)) {
      const statement = this.#statement()
      statements.push(statement)
      this.#take(';')
      if (statement.kind === 'return') break
    }
    return statements
  }

  #statement(): Statement {
    const line = this.#line
    if (this.#take('local')) return this.#take('function') ? this.#localFunction(line) : this.#local(line)
    if (this.#take('if')) return this.#if(line)
    if (this.#take('return')) {
      const isOver = ENDS_BLOCK.has(this.#token.text) || this.#is(';')
      return { kind: 'return', values: isOver ? [] : this.#expressions(), line }
    }
    if (this.#take('for')) return this.#for(line)
    if (this.#take('while')) {
      const condition = this.#expression()
      this.#must('do')
      return { kind: 'while', condition, body: this.#loop(), line }
    }
    if (this.#take('repeat')) return this.#repeat(line)
    if (this.#take('do')) return { kind: 'do', body: this.#endedBlock(), line }
    if (this.#take('break')) {
      if (this.#loops === 0) return syntaxError(line, `no loop to break near '${this.#token.text}'`)
      return { kind: 'break', line }
    }
    if (this.#take('function')) return this.#functionStatement(line)
    return this.#assignment(line)
  }

  #endedBlock(...variables: readonly Variable[]): Block {
    const body = this.#block(...variables)
    this.#must('end')
    return body
  }

  #loop(...variables: readonly Variable[]): Block {
    this.#loops += 1
    const body = this.#endedBlock(...variables)
    this.#loops -= 1
    return body
  }

  #local(line: number): Statement {
    const names = [this.#name()]
    while (this.#take(',')) names.push(this.#name())
    const values = this.#take('=') ? this.#expressions() : []
    const variables = names.map((name) => this.#variable(name))
    for (const variable of variables) this.#declare(variable)
    return { kind: 'local', variables, values, line }
  }

  #localFunction(line: number): Statement {
    const variable = this.#variable(this.#name(), 'function')
    this.#declare(variable)
    return { kind: 'local function', variable, of: this.#functionBody(), line }
  }

  /** `function a.b.c:d() … end` */
  #functionStatement(line: number): Statement {
    let target = this.#named(this.#name(), line)
    let isMethod = false
    while (!isMethod && (this.#is('.') || this.#is(':'))) {
      isMethod = this.#is(':')
      this.#at += 1
      target = { kind: 'index', of: target, key: { kind: 'text', value: this.#name(), line }, line }
    }
    const value: Expression = { kind: 'function', of: this.#functionBody(isMethod ? ['self'] : []), line }
    this.#changing(target)
    return { kind: 'assign', targets: [target], values: [value], line }
  }

  #repeat(line: number): Statement {
    // The condition sees the variables of the body.
    return this.#scoped([], () => {
      this.#loops += 1
      const body = this.#statements()
      this.#loops -= 1
      this.#must('until')
      return { kind: 'repeat', body, condition: this.#expression(), line }
    })
  }

  #if(line: number): Statement {
    const cases: (readonly [Expression, Block])[] = []
    do {
      const condition = this.#expression()
      this.#must('then')
      cases.push([condition, this.#block()])
    } while (this.#take('elseif'))
    const otherwise = this.#take('else') ? this.#block() : null
    this.#must('end')
    return { kind: 'if', cases, otherwise, line }
  }

  #for(line: number): Statement {
    const names = [this.#name()]
    if (this.#take('=')) {
      const range = this.#expressions()
      if (range.length === 1) this.#expected(',')
      this.#must('do')
      const variable = this.#variable(names[0] as string, 'number')
      return { kind: 'count', variable, range, body: this.#loop(variable), line }
    }
    while (this.#take(',')) names.push(this.#name())
    this.#must('in')
    const values = this.#expressions()
    this.#must('do')
    const variables = names.map((name) => this.#variable(name))
    return { kind: 'each', variables, values, body: this.#loop(...variables), line }
  }

  #assignment(line: number): Statement {
    const first = this.#suffixed()
    if (first.kind === 'call') return { kind: 'call', call: first, line }
    const targets: Expression[] = [first]
    while (this.#take(',')) targets.push(this.#suffixed())
    this.#must('=')
    const values = this.#expressions()
    for (const target of targets) this.#changing(target)
    return { kind: 'assign', targets, values, line }
  }

  #changing(target: Expression): void {
    if (target.kind === 'local') target.variable.changes = true
    else if (target.kind !== 'index' && target.kind !== 'global')
      syntaxError(target.line, `syntax error near '${this.#token.text}'`)
  }

  #expressions(): Expression[] {
    const list = [this.#expression()]
    while (this.#take(',')) list.push(this.#expression())
    return list
  }

  #expression(binds = 0): Expression {
    let left = this.#unary()
    for (;;) {
      const { kind, text: sign, line } = this.#token
      const binding = kind === 'word' ? BINDING[sign] : undefined
      if (binding === undefined || binding[0] <= binds) return left
      this.#at += 1
      const right = this.#expression(binding[1])
      left =
        sign === 'and' || sign === 'or'
          ? { kind: 'logical', sign, left, right, line }
          : { kind: 'binary', sign, left, right, line }
    }
  }

  #unary(): Expression {
    const { text: sign, line } = this.#token
    if (!this.#take('not') && !this.#take('-') && !this.#take('#')) return this.#simple()
    return { kind: 'unary', sign, of: this.#expression(UNARY_BINDING), line }
  }

  #simple(): Expression {
    const token = this.#token
    const { kind, line } = token
    if (kind === 'number' || kind === 'text') {
      this.#at += 1
      return kind === 'number'
        ? { kind, value: token.value, line }
        : { kind: 'text', value: token.value, line }
    }
    for (const constant of ['nil', 'true', 'false'] as const)
      if (this.#take(constant)) return { kind: constant, line }
    if (this.#take('...')) {
      if (!this.#hasRest) return syntaxError(line, "cannot use '...' outside a vararg function near '...'")
      return { kind: 'rest', line }
    }
    if (this.#take('function')) return { kind: 'function', of: this.#functionBody(), line }
    return this.#is('{') ? this.#table() : this.#suffixed()
  }

  /** A name or brackets, with what is called or looked up there. */
  #suffixed(): Expression {
    const line = this.#line
    let expression: Expression
    if (this.#take('(')) {
      expression = { kind: 'brackets', of: this.#expression(), line }
      this.#must(')')
    } else if (this.#token.kind === 'name') expression = this.#named(this.#name(), line)
    else return syntaxError(line, `unexpected symbol near '${this.#token.text}'`)
    for (;;) {
      const next = this.#suffix(expression)
      if (next === null) return expression
      expression = next
    }
  }

  #suffix(of: Expression): Expression | null {
    const { kind, line } = this.#token
    if (this.#take('.')) return { kind: 'index', of, key: { kind: 'text', value: this.#name(), line }, line }
    if (this.#take('[')) {
      const key = this.#expression()
      this.#must(']')
      return { kind: 'index', of, key, line }
    }
    if (this.#take(':')) return this.#call(of, this.#name(), line)
    return kind === 'text' || this.#is('(') || this.#is('{') ? this.#call(of, null, line) : null
  }

  #call(callee: Expression, method: string | null, line: number): Call {
    const token = this.#token
    if (token.kind === 'text') {
      this.#at += 1
      return { kind: 'call', callee, method, args: [{ kind: 'text', value: token.value, line }], line }
    }
    if (this.#is('{')) return { kind: 'call', callee, method, args: [this.#table()], line }
    if (!this.#take('(')) return syntaxError(line, `function arguments expected near '${token.text}'`)
    const args = this.#is(')') ? [] : this.#expressions()
    this.#must(')')
    return { kind: 'call', callee, method, args, line }
  }

  #named(name: string, line: number): Expression {
    const variable = this.#find(name)
    if (variable === undefined) return { kind: 'global', name, line }
    return { kind: 'local', variable, depth: this.#depth, line }
  }

  #table(): Expression {
    const { line } = this.#token
    const items: Expression[] = []
    const fields: [Expression, Expression][] = []
    this.#must('{')
    while (!this.#is('}')) {
      if (this.#take('[')) {
        const key = this.#expression()
        this.#must(']')
        this.#must('=')
        fields.push([key, this.#expression()])
      } else if (this.#token.kind === 'name' && this.#tokens[this.#at + 1]?.text === '=') {
        const key: Expression = { kind: 'text', value: this.#name(), line }
        this.#must('=')
        fields.push([key, this.#expression()])
      } else items.push(this.#expression())
      if (!this.#take(',') && !this.#take(';')) break
    }
    this.#must('}')
    return { kind: 'table', items, fields, line }
  }

  #functionBody(first: readonly string[] = []): FunctionBody {
    const outside = { hasRest: this.#hasRest, loops: this.#loops }
    this.#loops = 0
    this.#depth += 1
    this.#hasRest = false
    const parameters = first.map((name) => this.#variable(name))
    this.#must('(')
    while (!this.#is(')')) {
      if (this.#take('...')) {
        this.#hasRest = true
        break
      }
      if (this.#token.kind !== 'name')
        return syntaxError(this.#line, `<name> or '...' expected near '${this.#token.text}'`)
      parameters.push(this.#variable(this.#name()))
      if (!this.#take(',')) break
    }
    this.#must(')')
    const hasRest = this.#hasRest
    const body = this.#endedBlock(...parameters)
    this.#depth -= 1
    this.#hasRest = outside.hasRest
    this.#loops = outside.loops
    return { parameters, hasRest, body }
  }
}
