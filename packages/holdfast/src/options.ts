import { InvalidArgumentError } from './errors.ts'
import { show } from './show.ts'

/** What objects of options call themselves: those of a class, too, and a module that exports each of them. */
const PLAIN: ReadonlySet<string> = new Set(['[object Object]', '[object Module]'])

const NONE = 'Leave it out: there are no options.'

/**
 * Refuses options that do not exist, and says which one was probably meant.
 *
 * @param where the call they were given to, for the error
 * @throws InvalidArgumentError
 */
export function checkOptions(options: unknown, known: readonly string[], where: string): void {
  if (options === undefined) return
  // A signal, a promise, a map or a list has none of these names, and what was meant by it would go unnoticed.
  if (!PLAIN.has(Object.prototype.toString.call(options))) {
    throw new InvalidArgumentError(where, options, {
      problem: 'is not an object of options',
      remedy: known.length === 0 ? NONE : `Give an object with some of: ${known.join(', ')}.`,
    })
  }
  const alternatives = known.length === 0 ? NONE : `There are: ${known.join(', ')}.`
  for (const name of Object.keys(options as object)) {
    if (known.includes(name)) continue
    const nearest = nearestOf(name, known)
    throw new InvalidArgumentError(`${where}.${name}`, (options as Record<string, unknown>)[name], {
      problem: 'is set, but there is no such option',
      remedy: nearest === null ? alternatives : `Did you mean ${show(nearest)}?`,
    })
  }
}

/**
 * Refuses options where there are none to be given: they would go unnoticed.
 *
 * @param given what a call was given beyond its parameters
 * @throws InvalidArgumentError
 */
export function checkNoOptions(given: readonly unknown[], where: string): void {
  for (const options of given) checkOptions(options, [], where)
}

/** @throws InvalidArgumentError when `value` is neither `true` nor `false` */
export function checkBoolean(value: unknown, option: string): boolean {
  if (typeof value === 'boolean') return value
  throw new InvalidArgumentError(option, value, {
    problem: 'is not a boolean',
    remedy: 'Give true or false.',
  })
}

/** @throws InvalidArgumentError when `value` is not a function */
export function checkFunction(value: unknown, option: string, example: string): void {
  if (typeof value === 'function') return
  throw new InvalidArgumentError(option, value, {
    problem: 'is not a function',
    remedy: `Give a function, as ${example}.`,
  })
}

/** @throws InvalidArgumentError when `value` is not a function, or one that cannot answer at once */
export function checkSyncFunction(value: unknown, option: string, example: string): void {
  checkFunction(value, option, example)
  if (Object.prototype.toString.call(value) !== '[object AsyncFunction]') return
  throw new InvalidArgumentError(option, value, {
    problem: 'is an async function, and must answer at once',
    remedy: `Give a function that is not async, as ${example}.`,
  })
}

/** @throws InvalidArgumentError when `value` has not all of these methods */
export function checkMethods(
  value: unknown,
  methods: readonly string[],
  option: string,
  remedy = `Give an object with ${methods.join(', ')}, or leave it out.`,
): void {
  const given = Object(value) as Record<string, unknown>
  if (methods.every((method) => typeof given[method] === 'function')) return
  throw new InvalidArgumentError(option, value, {
    problem: 'lacks some of its methods',
    remedy,
  })
}

/** @throws InvalidArgumentError when `value` is not an `AbortSignal` (of any copy or realm) */
export function checkSignal(value: unknown, option: string): AbortSignal {
  const signal = value as Partial<AbortSignal> | null
  const usable =
    typeof signal === 'object' &&
    signal !== null &&
    typeof signal.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function' &&
    'reason' in signal
  if (usable) return signal as AbortSignal
  throw new InvalidArgumentError(option, value, {
    problem: 'is not an AbortSignal',
    remedy: 'Give the signal of an AbortController, or AbortSignal.timeout(ms).',
  })
}

function nearestOf(name: string, known: readonly string[]): string | null {
  let nearest: string | null = null
  let least = Math.max(2, Math.floor(name.length / 2)) + 1
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance < least) {
      least = distance
      nearest = candidate
    }
  }
  return nearest
}

/** Levenshtein's distance. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= other.length; j += 1) {
      const change = (row[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[other.length] as number
}
