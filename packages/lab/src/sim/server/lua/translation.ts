import { ExpressionWriter } from './expressions.ts'
import { nameOf, named, typeOf } from './expression-facts.ts'
import {
  isMany,
  type Block,
  type Expression,
  type FunctionBody,
  type Statement,
  type Variable,
} from './syntax.ts'
import type { LuaTable } from './table.ts'

/** What a script is made into. */
export interface Translation {
  /** The body of a JavaScript function that gives the script's own: of KEYS and ARGV. It has the lines of the script. */
  readonly code: string
  /** Global values that it takes from its parameter `globals`, in this order. */
  readonly globals: readonly (readonly string[])[]
}

/** Makes JavaScript of a script. The values are those of `values.ts`; what operators do is in `operations.ts`. */
export function translate({ body }: FunctionBody, globals: LuaTable): Translation {
  return new Translator(globals).script(body)
}

class Translator extends ExpressionWriter {
  script(body: Block): Translation {
    this.function('(KEYS, ARGV, ...rest)', body)
    const taken = [...this.taken.values()]
    const names = taken.map(({ name }) => name).join(', ')
    return {
      code: `"use strict"; const [${names}] = globals; return ${this.out}`,
      globals: taken.map(({ path }) => path),
    }
  }

  protected block(body: Block): void {
    for (const statement of body) this.#statement(statement)
  }

  #braced(body: Block): void {
    this.write('{ ')
    this.block(body)
    this.write('} ')
  }

  #statement(statement: Statement): void {
    const { line } = statement
    switch (statement.kind) {
      case 'local':
        return this.#local(statement)
      case 'local function':
        this.write(`let ${nameOf(statement.variable)} = `, line)
        this.functionOf(statement.of)
        return this.write('; ')
      case 'assign':
        return this.#assign(statement)
      case 'call':
        this.call(statement.call)
        return this.write('; ')
      case 'do':
        return this.#braced(statement.body)
      case 'while':
        this.write('while (', line)
        this.condition(statement.condition)
        this.write(') ')
        return this.#braced(statement.body)
      case 'repeat':
        this.write('for (;;) { ', line)
        this.block(statement.body)
        this.write('if (')
        this.condition(statement.condition)
        return this.write(') break; } ')
      case 'if':
        return this.#if(statement)
      case 'count':
        return this.#countingLoop(statement)
      case 'each':
        return this.#eachLoop(statement)
      case 'return':
        return this.#return(statement.values, line)
      case 'break':
        return this.write('break; ', line)
    }
  }

  #local({ variables, values, line }: Extract<Statement, { kind: 'local' }>): void {
    const last = values.at(-1)
    if (last === undefined || !isMany(last) || variables.length === values.length) {
      // What is left over is worked out, and dropped.
      for (let i = 0; i < Math.max(variables.length, values.length); i += 1) {
        const [variable, value] = [variables[i], values[i]]
        this.write(variable === undefined ? 'void ' : `let ${nameOf(variable)} = `, line)
        if (value === undefined) this.write('undefined')
        else this.value(value)
        this.write('; ')
      }
      return
    }
    const many = this.temporary()
    values.slice(0, -1).forEach((value, i) => {
      const variable = variables[i]
      this.write(variable === undefined ? 'void ' : `let ${nameOf(variable)} = `, line)
      this.value(value)
      this.write('; ')
    })
    this.write(`${many} = `)
    this.many(last)
    this.write('; ')
    variables.slice(values.length - 1).forEach((variable, i) => {
      const value = i === 0 ? `one(${many})` : `nth(${many}, ${i})`
      this.write(`let ${nameOf(variable)} = ${value}; `)
    })
  }

  #assign({ targets, values, line }: Extract<Statement, { kind: 'assign' }>): void {
    const [target, value] = [targets[0], values[0]]
    if (targets.length === 1 && values.length === 1 && target !== undefined && value !== undefined)
      return this.#set(target, () => this.value(value), line)
    // Where they are is worked out before anything is written.
    const places = targets.map((each) => (each.kind === 'index' ? this.#placed(each) : each))
    const many = this.temporary()
    this.write(`${many} = [`, line)
    this.values(values)
    this.write(']; ')
    places.forEach((each, i) => this.#set(each, () => this.write(`${many}[${i}]`), line))
  }

  #placed({ of, key, line }: Extract<Expression, { kind: 'index' }>): Expression {
    const [table, at] = [of, key].map((value): Expression => {
      const name = this.temporary()
      this.write(`${name} = `, line)
      this.value(value)
      this.write('; ')
      return { kind: 'written', name, line }
    }) as [Expression, Expression]
    return { kind: 'index', of: table, key: at, line }
  }

  #set(target: Expression, value: () => void, line: number): void {
    if (target.kind === 'local') {
      this.write(`${nameOf(target.variable)} = `, line)
      value()
      return this.write('; ')
    }
    if (target.kind === 'index') {
      this.write('setIndex(', line)
      this.value(target.of)
      this.write(', ')
      this.value(target.key)
      this.write(', ')
      value()
      return this.write(`${named(target.of)}); `)
    }
    if (target.kind === 'global') {
      this.write(`setGlobal(${JSON.stringify(target.name)}, `, line)
      value()
      this.write('); ')
    }
  }

  #if({ cases, otherwise, line }: Extract<Statement, { kind: 'if' }>): void {
    cases.forEach(([condition, body], i) => {
      this.write(i === 0 ? 'if (' : 'else if (', i === 0 ? line : 0)
      this.condition(condition)
      this.write(') ')
      this.#braced(body)
    })
    if (otherwise === null) return
    this.write('else ')
    this.#braced(otherwise)
  }

  #countingLoop({ variable, range, body, line }: Extract<Statement, { kind: 'count' }>): void {
    const [first, last, step] = range as [Expression, Expression, Expression?]
    const [at, end, by] = ['at', 'end', 'by'].map((name) => `$${name}${variable.id}`)
    this.write(`for (let ${at} = `, line)
    this.#bound(first, 'initial value')
    this.write(`, ${end} = `)
    this.#bound(last, 'limit')
    if (step !== undefined) {
      this.write(`, ${by} = `)
      this.#bound(step, 'step')
      this.write(`; ${by} > 0 ? ${at} <= ${end} : ${at} >= ${end}; ${at} += ${by}`)
    } else this.write(`; ${at} <= ${end}; ${at} += 1`)
    this.write(`) { let ${nameOf(variable)} = ${at}; `)
    this.block(body)
    this.write('} ')
  }

  #bound(value: Expression, what: string): void {
    if (typeOf(value) === 'number') return this.value(value)
    this.write('bound(')
    this.value(value)
    this.write(`, ${JSON.stringify(what)})`)
  }

  #eachLoop({ variables, values, body, line }: Extract<Statement, { kind: 'each' }>): void {
    const { id } = variables[0] as Variable
    const [given, at, of] = ['given', 'at', 'of'].map((name) => `$${name}${id}`)
    const list = values.length === 1 ? this.#listedBy(values[0] as Expression) : null
    if (list !== null) {
      this.write(`for (let ${at} = 1, ${of} = listed(`, line)
      this.value(list)
      this.write(`); ; ${at} += 1) { let ${given} = ${of}.get(${at}); if (${given} === undefined) break; `)
      const parts = [at, given]
      variables.forEach((variable, i) => this.write(`let ${nameOf(variable)} = ${parts[i] ?? 'undefined'}; `))
    } else {
      this.write(`for (let ${of} = [`, line)
      this.values(values)
      this.write(`], ${at} = ${of}[2]; ; ) { let ${given} = callable(${of}[0])(${of}[1], ${at}); `)
      variables.forEach((variable, i) => this.write(`let ${nameOf(variable)} = nth(${given}, ${i}); `))
      const first = nameOf(variables[0] as Variable)
      this.write(`if (${first} === undefined) break; ${at} = ${first}; `)
    }
    this.block(body)
    this.write('} ')
  }

  /** What `ipairs` is called with, if it is. */
  #listedBy(value: Expression): Expression | null {
    if (value.kind !== 'call' || value.method !== null || value.args.length !== 1) return null
    const isIpairs = value.callee.kind === 'global' && value.callee.name === 'ipairs'
    return isIpairs ? (value.args[0] as Expression) : null
  }

  #return(values: readonly Expression[], line: number): void {
    const [only] = values
    if (only === undefined) return this.write('return NOTHING; ', line)
    this.write('return (', line)
    if (values.length === 1) {
      if (isMany(only)) this.many(only)
      else this.value(only)
    } else {
      this.write('[')
      this.values(values)
      this.write(']')
    }
    this.write('); ')
  }
}
