import { InvalidArgumentError, show } from './errors.ts'

/**
 * Refuses options that do not exist, and says which one was probably meant.
 *
 * @param where the call they were given to, for the error
 * @throws InvalidArgumentError
 */
export function checkOptions(options: unknown, known: readonly string[], where: string): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidArgumentError(where, options, {
      problem: 'is not an object of options',
      remedy: `Give an object with some of: ${known.join(', ')}.`,
    })
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const nearest = nearestOf(name, known)
    throw new InvalidArgumentError(`${where}.${name}`, (options as Record<string, unknown>)[name], {
      problem: 'is set, but there is no such option',
      remedy: nearest === null ? `There are: ${known.join(', ')}.` : `Did you mean ${show(nearest)}?`,
    })
  }
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

/** @throws InvalidArgumentError when `value` has not all of these methods */
export function checkMethods(value: unknown, methods: readonly string[], option: string): void {
  const given = Object(value) as Record<string, unknown>
  if (methods.every((method) => typeof given[method] === 'function')) return
  throw new InvalidArgumentError(option, value, {
    problem: 'lacks some of its methods',
    remedy: `Give an object with ${methods.join(', ')}, or leave it out.`,
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
