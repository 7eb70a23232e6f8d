import { InvalidArgumentError } from './errors.ts'

/** A length of time: whole milliseconds as a number, or a whole number with its unit, as `'250ms'` or `'30s'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** The least and the greatest length an option takes, in milliseconds. */
export interface DurationBounds {
  readonly min: number
  readonly max: number
}

/**
 * Turns a {@link Duration} into milliseconds.
 *
 * @param option the option's name, for the error
 * @throws InvalidArgumentError that names the option, the value and the remedy
 */
export function parseDuration(value: unknown, option: string, bounds: DurationBounds): number {
  const ms = typeof value === 'string' ? fromText(value) : value
  if (typeof ms !== 'number' || !Number.isInteger(ms)) {
    throw new InvalidArgumentError(option, value, {
      problem: 'is not a length of time',
      remedy: `Give whole milliseconds as a number, or a whole number with its unit ms, s, m, h or d, as '30s'.`,
    })
  }
  if (ms < bounds.min || ms > bounds.max) {
    throw new InvalidArgumentError(option, value, {
      problem: ms < bounds.min ? 'is too short' : 'is too long',
      remedy: `Give at least ${formatDuration(bounds.min)} and at most ${formatDuration(bounds.max)}.`,
    })
  }
  return ms
}

/** What was read already: an option is mostly the same text at every call. Bounded. */
const readBefore = new Map<string, number>()
const MOST_READ_BEFORE = 100

function fromText(text: string): number | null {
  const known = readBefore.get(text)
  if (known !== undefined) return known
  const match = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text)
  if (match === null) return null
  const ms = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS]
  if (readBefore.size < MOST_READ_BEFORE) readBefore.set(text, ms)
  return ms
}

/** Writes milliseconds as a person would, in the largest unit that leaves a whole number: `90000` as `'90s'`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0'
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (ms % UNIT_MS[unit] === 0) return `${ms / UNIT_MS[unit]}${unit}`
  }
  return `${ms}ms`
}
