import type { LuaTable } from './table.ts'
import { ARITHMETIC, nameOf, named, typeOf } from './expression-facts.ts'
import { isMany, type Block, type Call, type Expression, type FunctionBody } from './syntax.ts'

const COMPARISONS: Readonly<Record<string, string>> = {
  '<': 'less',
  '<=': 'lessOrEqual',
  '>': 'less',
  '>=': 'lessOrEqual',
}

/** Globals that each call of a script has for itself. */
const OF_THE_CALL: ReadonlySet<string> = new Set(['KEYS', 'ARGV'])

/**
 * Writes the expressions of a script as JavaScript. Each word stands on the line of the script that it comes from, so that the engine
 * knows where the script is when something fails.
 */
export abstract class ExpressionWriter {
  /** Global values that were asked for. */
  protected readonly taken = new Map<string, { readonly name: string; readonly path: readonly string[] }>()
  /** What was written so far. */
  protected out = ''
  readonly #globals: LuaTable
  #line = 1
  #temporaries: string[] = []
  #count = 0

  /** @param globals what scripts have; nobody changes it, so that it is looked up once */
  constructor(globals: LuaTable) {
    this.#globals = globals
  }

  protected abstract block(body: Block): void

  /** Goes on to the line of the script that something is on. */
  protected write(text: string, line = 0): void {
    if (line > this.#line) {
      this.out += '\n'.repeat(line - this.#line)
      this.#line = line
    }
    this.out += text
  }

  protected temporary(): string {
    this.#count += 1
    const name = `t${this.#count}`
    this.#temporaries.push(name)
    return name
  }

  protected function(parameters: string, body: Block): void {
    const [out, temporaries] = [this.out, this.#temporaries]
    this.out = ''
    this.#temporaries = []
    this.block(body)
    const own = this.#temporaries.length === 0 ? '' : `let ${this.#temporaries.join(', ')}; `
    // In brackets: on a line of its own it would be a statement.
    this.out = `${out}(${parameters} => { ${own}${this.out}return NOTHING; })`
    this.#temporaries = temporaries
  }

  protected functionOf({ parameters, hasRest, body }: FunctionBody): void {
    const names = parameters.map(nameOf)
    this.function(`(${[...names, ...(hasRest ? ['...rest'] : [])].join(', ')})`, body)
  }

  /** A list of values; the last of them may be many. */
  protected values(values: readonly Expression[]): void {
    values.forEach((value, i) => {
      if (i > 0) this.write(', ')
      if (i < values.length - 1 || !isMany(value)) return this.value(value)
      if (value.kind === 'rest') return this.write('...rest', value.line)
      this.write('...all(')
      this.many(value)
      this.write(')')
    })
  }

  /** All that a call gives, as it comes. */
  protected many(value: Expression): void {
    if (value.kind === 'call') this.call(value)
    else this.write('rest', value.line)
  }

  /** Exactly one value. */
  protected value(value: Expression): void {
    const { line } = value
    switch (value.kind) {
      case 'nil':
        return this.write('undefined', line)
      case 'true':
      case 'false':
        return this.write(value.kind, line)
      case 'number':
        return this.write(String(value.value), line)
      case 'text':
        return this.write(JSON.stringify(value.value), line)
      case 'rest':
        return this.write('rest[0]', line)
      case 'function':
        return this.functionOf(value.of)
      case 'local':
        return this.write(nameOf(value.variable), line)
      case 'written':
        return this.write(value.name, line)
      case 'global':
        return this.#global(value.name, line)
      case 'index':
        return this.#index(value)
      case 'call':
        this.write('one(')
        this.call(value)
        return this.write(')')
      case 'brackets':
        return this.value(value.of)
      case 'table':
        return this.#table(value)
      case 'unary':
        return this.#unary(value)
      case 'binary':
        return this.#binary(value)
      case 'logical':
        return this.#logical(value)
    }
  }

  #global(name: string, line: number): void {
    if (OF_THE_CALL.has(name)) return this.write(name, line)
    this.write(this.take([name]) ?? `missing(${JSON.stringify(name)})`, line)
  }

  /** A value that all scripts have, by the names that lead to it; null when there is none. */
  protected take(path: readonly string[]): string | null {
    const id = path.join('.')
    const known = this.taken.get(id)
    if (known !== undefined) return known.name
    let value: unknown = this.#globals
    for (const name of path) value = (value as LuaTable).get(name)
    if (value === undefined) return null
    const name = `global$${path.join('$')}`
    this.taken.set(id, { name, path })
    return name
  }

  #isLibrary(name: string): boolean {
    return !OF_THE_CALL.has(name) && typeof this.#globals.get(name) === 'object'
  }

  #index({ of, key, line }: Extract<Expression, { kind: 'index' }>): void {
    if (of.kind === 'global' && key.kind === 'text' && this.#isLibrary(of.name)) {
      const taken = this.take([of.name, key.value])
      if (taken !== null) return this.write(taken, line)
    }
    this.write('index(')
    this.value(of)
    this.write(', ')
    this.value(key)
    this.write(`${named(of)})`)
  }

  protected call({ callee, method, args, line }: Call): void {
    if (method !== null) return this.#methodCall(callee, method, { args, line })
    if (this.#isFunction(callee)) this.value(callee)
    else {
      this.write('callable(')
      this.value(callee)
      this.write(`${named(callee)})`)
    }
    this.write('(', line)
    this.values(args)
    this.write(')')
  }

  #methodCall(of: Expression, name: string, call: { args: readonly Expression[]; line: number }): void {
    const self = this.temporary()
    this.write(`callable(index(${self} = `)
    this.value(of)
    this.write(`, ${JSON.stringify(name)}${named(of)}), ${JSON.stringify(`method '${name}'`)})(${self}`)
    if (call.args.length > 0) this.write(', ', call.line)
    this.values(call.args)
    this.write(')')
  }

  /** Whether it surely can be called. */
  #isFunction(callee: Expression): boolean {
    if (callee.kind === 'local') return callee.variable.is === 'function' && !callee.variable.changes
    if (callee.kind === 'global') return typeof this.#globals.get(callee.name) === 'function'
    if (callee.kind !== 'index' || callee.of.kind !== 'global' || callee.key.kind !== 'text') return false
    if (!this.#isLibrary(callee.of.name)) return false
    const library = this.#globals.get(callee.of.name) as LuaTable
    return typeof library.get(callee.key.value) === 'function'
  }

  #table({ items, fields, line }: Extract<Expression, { kind: 'table' }>): void {
    this.write(fields.length === 0 ? 'list([' : 'table([', line)
    this.values(items)
    this.write(']')
    if (fields.length > 0) {
      this.write(', [')
      for (const [key, value] of fields) {
        this.value(key)
        this.write(', ')
        this.value(value)
        this.write(', ')
      }
      this.write(']')
    }
    this.write(')')
  }

  #unary({ sign, of, line }: Extract<Expression, { kind: 'unary' }>): void {
    if (sign === 'not') {
      this.write('!', line)
      return this.condition(of)
    }
    if (sign === '-' && typeOf(of) === 'number') {
      // A space: two signs would be one.
      this.write('(- ', line)
      this.value(of)
      return this.write(')')
    }
    this.write(sign === '-' ? 'negate(' : 'length(', line)
    this.value(of)
    this.write(`${named(of)})`)
  }

  #binary({ sign, left, right, line }: Extract<Expression, { kind: 'binary' }>): void {
    const inFix = (plain: string): void => {
      this.write('(')
      this.value(left)
      this.write(` ${plain} `, line)
      this.value(right)
      this.write(')')
    }
    if (sign === '==' || sign === '~=') return inFix(sign === '==' ? '===' : '!==')
    const types = [typeOf(left), typeOf(right)]
    const areNumbers = types.every((type) => type === 'number')
    const comparison = COMPARISONS[sign]
    if (comparison !== undefined) {
      if (areNumbers) return inFix(sign)
      const turned = sign === '>' || sign === '>='
      return turned ? this.#turned(comparison, { left, right }) : this.#prefix(comparison, { left, right })
    }
    if (sign === '..') {
      if (types.every((type) => type === 'string')) return inFix('+')
      return this.#prefix('concat', { left, right }, named(left, right))
    }
    const [name, plain] = ARITHMETIC[sign] as readonly [string, string | null]
    if (areNumbers && plain !== null) return inFix(plain)
    this.#prefix(name, { left, right }, named(left, right))
  }

  #prefix(name: string, { left, right }: { left: Expression; right: Expression }, names = ''): void {
    this.write(`${name}(`)
    this.value(left)
    this.write(', ')
    this.value(right)
    this.write(`${names})`)
  }

  /** `a > b` is `b < a`, and yet the left one is worked out first. */
  #turned(name: string, { left, right }: { left: Expression; right: Expression }): void {
    const [one, other] = [this.temporary(), this.temporary()]
    this.write(`(${one} = `)
    this.value(left)
    this.write(`, ${other} = `)
    this.value(right)
    this.write(`, ${name}(${other}, ${one}))`)
  }

  #logical({ sign, left, right }: Extract<Expression, { kind: 'logical' }>): void {
    const isAnd = sign === 'and'
    if (typeOf(left) === 'boolean') {
      this.write('(')
      this.value(left)
      this.write(isAnd ? ' && ' : ' || ')
      this.value(right)
      return this.write(')')
    }
    const isNamed = left.kind === 'local'
    const name = isNamed ? nameOf(left.variable) : this.temporary()
    this.write('(')
    if (!isNamed) {
      this.write(`${name} = `)
      this.value(left)
      this.write(', ')
    }
    this.write(`${name} === undefined || ${name} === false ? `)
    if (isAnd) this.write(`${name} : `)
    this.value(right)
    this.write(isAnd ? ')' : ` : ${name})`)
  }

  /** Whether something is neither nil nor false. */
  protected condition(value: Expression): void {
    const { kind } = value
    if (kind === 'brackets') return this.condition(value.of)
    if (kind === 'logical') {
      this.write('(')
      this.condition(value.left)
      this.write(value.sign === 'and' ? ' && ' : ' || ')
      this.condition(value.right)
      return this.write(')')
    }
    if (typeOf(value) === 'boolean') return this.value(value)
    if (kind === 'local') {
      const name = nameOf(value.variable)
      return this.write(`(${name} !== undefined && ${name} !== false)`, value.line)
    }
    this.write('isTrue(')
    this.value(value)
    this.write(')')
  }
}
