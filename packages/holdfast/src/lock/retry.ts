import { bounds, defaults } from '../defaults.ts'
import { parseDuration, type Duration } from '../duration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { checkOptions } from '../options.ts'

/**
 * How a waiting acquire asks again when it does not stand in the queue. Made by {@link interval} or {@link backoff}, or one of your own.
 */
export interface Retry {
  /** Milliseconds before the next ask, after `asks` asks; `fraction` is random, from 0 to 1. */
  delay(asks: number, fraction: number): number
}

const delayBounds = { min: 1, max: bounds.maxWait }

/**
 * Asks at a fixed interval (default 50 ms). Simple, and right where nothing else wakes the waiter; the queue is kinder to
 * the server and quicker.
 *
 * @throws InvalidArgumentError for a length of time that is none
 */
export function interval(every: Duration = defaults.retryInterval): Retry {
  const ms = parseDuration(every, 'interval', delayBounds)
  return { delay: () => ms }
}

/**
 * Exponential back-off with full jitter: a random time between 0 and `min(max, base × 2ⁿ)`. Full jitter is from Marc Brooker,
 * "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 *
 * @throws InvalidArgumentError for an unknown option, a length of time that is none, or `max` below `base`
 */
export function backoff(options: { base?: Duration; max?: Duration } = {}): Retry {
  checkOptions(options, ['base', 'max'], 'backoff')
  const { base: least = defaults.retryInterval, max: most = defaults.longestRetry } = options
  const base = parseDuration(least, 'backoff.base', delayBounds)
  const max = parseDuration(most, 'backoff.max', delayBounds)
  if (max < base) {
    throw new InvalidArgumentError('backoff.max', most, {
      problem: `is less than base (${base} ms)`,
      remedy: 'Give a max that is at least as long as base.',
    })
  }
  return {
    delay: (asks, fraction) =>
      Math.max(1, Math.ceil(fraction * Math.min(max, base * 2 ** Math.min(asks, 30)))),
  }
}

/**
 * How long to wait before the next ask.
 *
 * @throws InvalidArgumentError when a `retry` of the caller's own making gives no length of time, or what it throws
 */
export function delayOf(retry: Retry, asks: number, fraction: number): number {
  const ms: unknown = retry.delay(asks, fraction)
  if (typeof ms === 'number' && ms >= 0) return ms
  throw new InvalidArgumentError('retry.delay', ms, {
    problem: 'is no number of milliseconds',
    remedy: 'Return 0 or more, or use interval() or backoff().',
  })
}

/** @throws InvalidArgumentError when `value` has no `delay` to call */
export function checkRetry(value: unknown, option: string): Retry {
  if (typeof value === 'object' && value !== null && 'delay' in value && typeof value.delay === 'function') {
    return value as Retry
  }
  throw new InvalidArgumentError(option, value, {
    problem: 'is no way of asking again',
    remedy: "Give interval('50ms') or backoff({ base: '50ms', max: '1s' }), or leave it out for the queue.",
  })
}
