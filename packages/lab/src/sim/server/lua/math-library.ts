import { numberAt } from './arguments.ts'
import type { LuaFunction, LuaValue } from './values.ts'

export const mathLibrary: Readonly<Record<string, LuaFunction>> = {
  ...ofOne([
    'floor',
    'ceil',
    'abs',
    'sqrt',
    'exp',
    'log',
    'log10',
    'sin',
    'cos',
    'tan',
    'asin',
    'acos',
    'atan',
  ]),
  max: (...args) => extreme(args, 'max', (a, b) => a > b),
  min: (...args) => extreme(args, 'min', (a, b) => a < b),
  pow: (...args) => numberAt(args, 1, 'pow') ** numberAt(args, 2, 'pow'),
  fmod: (...args) => numberAt(args, 1, 'fmod') % numberAt(args, 2, 'fmod'),
  mod: (...args) => numberAt(args, 1, 'mod') % numberAt(args, 2, 'mod'),
  atan2: (...args) => Math.atan2(numberAt(args, 1, 'atan2'), numberAt(args, 2, 'atan2')),
}

export const mathConstants: Readonly<Record<string, number>> = { huge: Infinity, pi: Math.PI }

/** Of 32 bits, as in LuaJIT. */
export const bitLibrary: Readonly<Record<string, LuaFunction>> = {
  band: (...args) => numberAt(args, 1, 'band') & numberAt(args, 2, 'band'),
  bor: (...args) => numberAt(args, 1, 'bor') | numberAt(args, 2, 'bor'),
  bxor: (...args) => numberAt(args, 1, 'bxor') ^ numberAt(args, 2, 'bxor'),
  bnot: (...args) => ~numberAt(args, 1, 'bnot'),
  lshift: (...args) => numberAt(args, 1, 'lshift') << numberAt(args, 2, 'lshift'),
  rshift: (...args) => (numberAt(args, 1, 'rshift') >>> numberAt(args, 2, 'rshift')) | 0,
  tobit: (...args) => numberAt(args, 1, 'tobit') | 0,
}

type OfOne =
  | 'floor'
  | 'ceil'
  | 'abs'
  | 'sqrt'
  | 'exp'
  | 'log'
  | 'log10'
  | 'sin'
  | 'cos'
  | 'tan'
  | 'asin'
  | 'acos'
  | 'atan'

function ofOne(names: readonly OfOne[]): Record<string, LuaFunction> {
  return Object.fromEntries(names.map((name) => [name, (...args) => Math[name](numberAt(args, 1, name))]))
}

function extreme(args: readonly LuaValue[], name: string, beats: (a: number, b: number) => boolean): number {
  let best = numberAt(args, 1, name)
  for (let i = 2; i <= args.length; i += 1) {
    const number = numberAt(args, i, name)
    if (beats(number, best)) best = number
  }
  return best
}
