/** What a script says, as a tree. Each name is known to be a local variable or a global one. */

/** A local variable. */
export interface Variable {
  readonly name: string
  /** No other variable of the script has it. */
  readonly id: number
  /** How deep in functions it was declared. */
  readonly depth: number
  /** Whether it is written after its declaration. */
  changes: boolean
  /** What it was declared as, as far as that says something. */
  readonly is: 'function' | 'number' | null
}

export interface FunctionBody {
  readonly parameters: readonly Variable[]
  readonly hasRest: boolean
  readonly body: Block
}

export type Expression =
  | { readonly kind: 'nil' | 'true' | 'false' | 'rest'; readonly line: number }
  | { readonly kind: 'number'; readonly value: number; readonly line: number }
  | { readonly kind: 'text'; readonly value: string; readonly line: number }
  | { readonly kind: 'function'; readonly line: number; readonly of: FunctionBody }
  /** `depth`: how deep in functions it is used. */
  | { readonly kind: 'local'; readonly variable: Variable; readonly depth: number; readonly line: number }
  | { readonly kind: 'global'; readonly name: string; readonly line: number }
  | { readonly kind: 'index'; readonly of: Expression; readonly key: Expression; readonly line: number }
  | Call
  | {
      readonly kind: 'logical'
      readonly sign: 'and' | 'or'
      readonly left: Expression
      readonly right: Expression
      readonly line: number
    }
  | {
      readonly kind: 'binary'
      readonly sign: string
      readonly left: Expression
      readonly right: Expression
      readonly line: number
    }
  | { readonly kind: 'unary'; readonly sign: string; readonly of: Expression; readonly line: number }
  /** Of the translation itself: what was worked out before, by its name in JavaScript. */
  | { readonly kind: 'written'; readonly name: string; readonly line: number }
  /** In brackets: one value, whatever is in them. */
  | { readonly kind: 'brackets'; readonly of: Expression; readonly line: number }
  | {
      readonly kind: 'table'
      readonly line: number
      readonly items: readonly Expression[]
      readonly fields: readonly (readonly [key: Expression, value: Expression])[]
    }

export interface Call {
  readonly kind: 'call'
  readonly callee: Expression
  /** `callee:method(…)` */
  readonly method: string | null
  readonly args: readonly Expression[]
  readonly line: number
}

export type Block = readonly Statement[]

export type Statement =
  | {
      readonly kind: 'local'
      readonly variables: readonly Variable[]
      readonly values: readonly Expression[]
      readonly line: number
    }
  | {
      readonly kind: 'local function'
      readonly variable: Variable
      readonly of: FunctionBody
      readonly line: number
    }
  | {
      readonly kind: 'assign'
      readonly targets: readonly Expression[]
      readonly values: readonly Expression[]
      readonly line: number
    }
  | { readonly kind: 'call'; readonly call: Call; readonly line: number }
  | { readonly kind: 'do'; readonly body: Block; readonly line: number }
  | { readonly kind: 'while'; readonly condition: Expression; readonly body: Block; readonly line: number }
  | { readonly kind: 'repeat'; readonly condition: Expression; readonly body: Block; readonly line: number }
  | {
      readonly kind: 'if'
      readonly cases: readonly (readonly [condition: Expression, body: Block])[]
      readonly otherwise: Block | null
      readonly line: number
    }
  | {
      readonly kind: 'count'
      readonly variable: Variable
      readonly range: readonly Expression[]
      readonly body: Block
      readonly line: number
    }
  | {
      readonly kind: 'each'
      readonly variables: readonly Variable[]
      readonly values: readonly Expression[]
      readonly body: Block
      readonly line: number
    }
  | { readonly kind: 'return'; readonly values: readonly Expression[]; readonly line: number }
  | { readonly kind: 'break'; readonly line: number }

/** Whether it may give more than one value, or none. */
export function isMany({ kind }: Expression): boolean {
  return kind === 'call' || kind === 'rest'
}
