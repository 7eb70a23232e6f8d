import type { Expression, Variable } from './syntax.ts'

/** Operators with operands of any type: the function of `operations.ts`, and what it is for numbers. */
export const ARITHMETIC: Readonly<Record<string, readonly [name: string, plain: string | null]>> = {
  '+': ['add', '+'],
  '-': ['subtract', '-'],
  '*': ['multiply', '*'],
  '/': ['divide', '/'],
  '%': ['modulo', null],
  '^': ['power', null],
}

type Type = 'number' | 'string' | 'boolean' | null

/** What a variable is called in JavaScript. */
export const nameOf = ({ name, id }: Variable): string => `${name}$${id}`

/** What is known of a value's type before the script runs. */
export function typeOf(value: Expression): Type {
  const { kind } = value
  if (kind === 'number') return 'number'
  if (kind === 'text') return 'string'
  if (kind === 'true' || kind === 'false') return 'boolean'
  if (kind === 'local') return value.variable.is === 'number' && !value.variable.changes ? 'number' : null
  if (kind === 'brackets') return typeOf(value.of)
  if (kind === 'unary') return value.sign === 'not' ? 'boolean' : 'number'
  if (kind === 'binary')
    return value.sign === '..' ? 'string' : ARITHMETIC[value.sign] === undefined ? 'boolean' : 'number'
  if (kind !== 'logical') return null
  return typeOf(value.left) === 'boolean' && typeOf(value.right) === 'boolean' ? 'boolean' : null
}

/** How the script calls values, as further arguments: for messages. */
export function named(...values: readonly Expression[]): string {
  const names = values.map(spoken)
  if (names.every((name) => name === null)) return ''
  return names.map((name) => `, ${name === null ? 'undefined' : JSON.stringify(name)}`).join('')
}

function spoken(value: Expression): string | null {
  if (value.kind === 'local')
    return `${value.depth > value.variable.depth ? 'upvalue' : 'local'} '${value.variable.name}'`
  if (value.kind === 'global') return `global '${value.name}'`
  return value.kind === 'index' && value.key.kind === 'text' ? `field '${value.key.value}'` : null
}
