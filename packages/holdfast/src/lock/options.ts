import { bounds, defaults } from '../defaults.ts'
import { parseDuration, type Duration } from '../duration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { checkBoolean, checkOptions, checkSignal } from '../options.ts'
import type { AskGroup } from '../store/contract.ts'
import { Held } from './held.ts'
import { checkRetry, type Retry } from './retry.ts'

/** What `hf.lock(name, …)` takes. Durations are whole milliseconds, or text as `'30s'`. */
export interface LockOptions {
  /** How long the lock outlives a crash of its holder; renewed every third of it. 10 ms to 24 h; default 30 s. */
  ttl?: Duration
  /** How long `acquire` and `run` wait; 0 tries once. At most 24 h; default 5 s. */
  wait?: Duration
  /** The longest time it may be held, whatever the watchdog does; then it is taken and the work is aborted. Default: none. */
  maxHold?: Duration
  /** Whether a watchdog renews it. `false` for work of known length: the lock then ends after `ttl`. Default true. */
  renew?: boolean
  /** `interval(…)` or `backoff(…)`. Default: stand in the queue and be woken. */
  retry?: Retry
  /**
   * How long a lease may go from one waiting call of this process to the next without a round trip, before other processes
   * get the lock: at most `grants` times (default 64, 1 to 1000) and for `time` (default 100 ms, at most 10 s). `false`: never.
   * Only for renewed locks, between calls of equal `ttl` that stand in the queue.
   */
  handOver?: false | HandOverOptions
  /** Whether a `run` inside a `run` of the same flow takes a share of the same lock instead of waiting for itself. Default false. */
  reentrant?: boolean
  /** The exact key, to share the lock with other software. Default: `PREFIX:{NAME}:lock`. */
  key?: string
}

/** Bounds of handing a lease on within the process. */
export interface HandOverOptions {
  /** Grants of one lease. */
  grants?: number
  /** Time since the lease was granted. */
  time?: Duration
}

/** What a single call takes, beside the lock's own options. */
export interface AcquireOptions {
  /** Ends the wait: the call rejects with the signal's reason within 10 ms, and leaves nothing behind. */
  signal?: AbortSignal
  /** How long this call waits, instead of the lock's own `wait`; 0 tries once. At most 24 h. */
  wait?: Duration
  /** The lease of this call, instead of the lock's own `ttl`. 10 ms to 24 h. */
  ttl?: Duration
  /** A hold of the same lock that this call nests in, instead of waiting for it. */
  within?: Held
}

/** Bounds of handing a lease on, checked and in milliseconds. */
export interface HandOver {
  readonly grants: number
  readonly time: number
}

/** The options of a lock, checked and in milliseconds. */
export interface CheckedLockOptions {
  readonly ttl: number
  readonly wait: number
  readonly maxHold: number | null
  readonly renew: boolean
  readonly retry: Retry | null
  readonly handOver: HandOver | null
  readonly reentrant: boolean
  readonly key: string | undefined
}

/** The options of a call, checked and in milliseconds. */
export interface CheckedAcquireOptions {
  readonly ttl: number
  readonly wait: number
  readonly signal: AbortSignal | null
  readonly within: Held | null
  /** Those that are asked for in the very same turn, to be granted together or not at all. */
  readonly group?: AskGroup | undefined
}

const ttlBounds = { min: bounds.minTtl, max: bounds.maxTtl }
const waitBounds = { min: 0, max: bounds.maxWait }
const DEFAULT_HAND_OVER: HandOver = { grants: defaults.handOverGrants, time: defaults.handOverTime }
const DEFAULTS: CheckedLockOptions = {
  ttl: defaults.ttl,
  wait: defaults.wait,
  maxHold: null,
  renew: true,
  retry: null,
  handOver: DEFAULT_HAND_OVER,
  reentrant: false,
  key: undefined,
}
const LOCK_OPTIONS = ['ttl', 'wait', 'maxHold', 'renew', 'retry', 'handOver', 'reentrant', 'key']
const ACQUIRE_OPTIONS = ['signal', 'wait', 'ttl', 'within']

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkLockOptions(
  options: LockOptions | undefined,
  where = 'lock',
  known: readonly string[] = LOCK_OPTIONS,
): CheckedLockOptions {
  return options === undefined ? DEFAULTS : checkGivenOptions(options, where, known)
}

function checkGivenOptions(
  options: LockOptions,
  where: string,
  known: readonly string[],
): CheckedLockOptions {
  checkOptions(options, known, where)
  const {
    ttl = defaults.ttl,
    wait = defaults.wait,
    maxHold,
    renew = true,
    retry,
    handOver = DEFAULT_HAND_OVER,
    reentrant = false,
    key,
  } = options
  const checked = {
    ttl: parseDuration(ttl, 'ttl', ttlBounds),
    wait: parseDuration(wait, 'wait', waitBounds),
    maxHold:
      maxHold === undefined
        ? null
        : parseDuration(maxHold, 'maxHold', { min: bounds.minTtl, max: bounds.maxHold }),
    renew: checkBoolean(renew, 'renew'),
    retry: retry === undefined ? null : checkRetry(retry, 'retry'),
    handOver: renew ? checkHandOver(handOver) : null,
    reentrant: checkBoolean(reentrant, 'reentrant'),
    key: key === undefined ? undefined : checkKey(key),
  }
  if (!checked.renew && checked.maxHold !== null) {
    throw new InvalidArgumentError('maxHold', maxHold, {
      problem: 'is set together with renew: false, where the lock ends after its ttl anyway',
      remedy: 'Leave maxHold out and set ttl, or leave out renew: false.',
    })
  }
  return checked
}

function checkHandOver(value: unknown): HandOver | null {
  if (value === false) return null
  if (value === DEFAULT_HAND_OVER) return DEFAULT_HAND_OVER
  checkOptions(value, ['grants', 'time'], 'handOver')
  const { grants = defaults.handOverGrants, time = defaults.handOverTime } = value as HandOverOptions
  if (!Number.isInteger(grants) || grants < 1 || grants > bounds.maxHandOverGrants) {
    throw new InvalidArgumentError('handOver.grants', grants, {
      problem: 'is not a number of grants',
      remedy: `Give a whole number from 1 to ${bounds.maxHandOverGrants}, or handOver: false.`,
    })
  }
  return { grants, time: parseDuration(time, 'handOver.time', { min: 1, max: bounds.maxHandOverTime }) }
}

/** @throws InvalidArgumentError when `key` is not text, is empty, or has a lone surrogate */
export function checkKey(key: unknown): string {
  if (typeof key === 'string' && key !== '' && key.isWellFormed()) return key
  throw new InvalidArgumentError('key', key, {
    problem: 'cannot be a key',
    remedy: "Give the exact key that the other software uses, as 'locks:order:123'.",
  })
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkAcquireOptions(
  options: AcquireOptions | undefined,
  lock: CheckedLockOptions,
  where: string,
  known: readonly string[] = ACQUIRE_OPTIONS,
): CheckedAcquireOptions {
  if (options === undefined) return { ttl: lock.ttl, wait: lock.wait, signal: null, within: null }
  checkOptions(options, known, where)
  const { signal, wait, ttl, within } = options
  return {
    ttl: ttl === undefined ? lock.ttl : parseDuration(ttl, 'ttl', ttlBounds),
    wait: wait === undefined ? lock.wait : parseDuration(wait, 'wait', waitBounds),
    signal: signal === undefined ? null : checkSignal(signal, 'signal'),
    within: within === undefined ? null : checkHeld(within),
  }
}

function checkHeld(value: unknown): Held {
  if (value instanceof Held) return value
  throw new InvalidArgumentError('within', value, {
    problem: 'is not a held lock',
    remedy: 'Give what acquire() returned, or what run() hands to the work.',
  })
}

/** @throws InvalidArgumentError when `within` is a hold of another lock */
export function checkWithin(within: Held, sameLock: boolean, name: string): void {
  if (sameLock) return
  throw new InvalidArgumentError('within', within.name, {
    problem: `is a hold of another lock than ${JSON.stringify(name)}`,
    remedy: 'Give a hold of the same name, made by the same Holdfast instance.',
  })
}
