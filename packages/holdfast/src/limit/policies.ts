import { bounds, defaults } from '../defaults.ts'
import { formatDuration, parseDuration, type Duration } from '../duration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { show } from '../show.ts'
import { checkOptions } from '../options.ts'
import {
  capacityOf,
  spanOf,
  type Concurrency,
  type FixedWindow,
  type LeakyBucket,
  type Policy,
  type PolicyKind,
  type SlidingCounter,
  type SlidingWindow,
  type TokenBucket,
} from '../store/limit/policy.ts'

/** What the window policies take. */
export interface WindowOptions {
  /** How much passes in a window. A whole number from 1; at most 2³¹ − 1, for an exact sliding window ten million. */
  limit: number
  /** Length of the window. 1 ms to 365 days. */
  per: Duration
  /** Tells the policies of a limiter apart, in decisions, headers and keys. Default: from the kind and `per`, as `window-1m`. */
  name?: string
}

/** What {@link tokenBucket} takes. */
export interface TokenBucketOptions {
  /** The burst: how much passes at once out of a full bucket. A whole number from 1. */
  capacity: number
  /** Tokens that flow in per `per`, continuously. A whole number from 1; for half a token a second, 1 per `'2s'`. */
  refill: number
  /** The time in which `refill` tokens flow in. 1 ms to 365 days. */
  per: Duration
  /** Tells the policies of a limiter apart. Default: `bucket-` and `per`. */
  name?: string
}

/** What {@link leakyBucket} takes. */
export interface LeakyBucketOptions {
  /** How many may stand in line, those who go at once included. A whole number from 1. */
  capacity: number
  /** How many go per `per`, evenly spaced. A whole number from 1. */
  rate: number
  /** The time in which `rate` of them go. 1 ms to 365 days. */
  per: Duration
  /** Tells the policies of a limiter apart. Default: `leaky-` and `per`. */
  name?: string
}

/** What {@link concurrency} takes. */
export interface ConcurrencyOptions {
  /** How much may be going on at once. A whole number from 1. */
  limit: number
  /** How long a slot outlives a crash of its holder; renewed every third of it. 10 ms to 24 h; default 30 s. */
  lease?: Duration
  /** Tells the policies of a limiter apart. Default: `slots`. */
  name?: string
}

interface Shape {
  /** The function that makes it. */
  readonly call: string
  /** Begins its derived name. */
  readonly word: string
  readonly numbers: readonly string[]
  readonly time: 'per' | 'lease'
  /** An example of its options, for errors. */
  readonly example: string
}

const SHAPES: Readonly<Record<PolicyKind, Shape>> = {
  'fixed-window': {
    call: 'fixedWindow',
    word: 'window',
    numbers: ['limit'],
    time: 'per',
    example: "{ limit: 100, per: '1m' }",
  },
  'sliding-window': {
    call: 'slidingWindow',
    word: 'sliding',
    numbers: ['limit'],
    time: 'per',
    example: "{ limit: 100, per: '1m' }",
  },
  'sliding-counter': {
    call: 'slidingCounter',
    word: 'counter',
    numbers: ['limit'],
    time: 'per',
    example: "{ limit: 100, per: '1m' }",
  },
  'token-bucket': {
    call: 'tokenBucket',
    word: 'bucket',
    numbers: ['capacity', 'refill'],
    time: 'per',
    example: "{ capacity: 20, refill: 10, per: '1s' }",
  },
  'leaky-bucket': {
    call: 'leakyBucket',
    word: 'leaky',
    numbers: ['capacity', 'rate'],
    time: 'per',
    example: "{ capacity: 20, rate: 10, per: '1s' }",
  },
  concurrency: {
    call: 'concurrency',
    word: 'slots',
    numbers: ['limit'],
    time: 'lease',
    example: '{ limit: 5 }',
  },
}

/** A decision names these where no policy decided, and stores keep blocks under the first. */
const RESERVED_NAMES = ['block', 'unavailable']

/**
 * At most `limit` per window; windows begin at whole multiples of `per` since 1970 by the store's clock. The cheapest. Up to
 * twice the limit passes around an edge: the end of one window and the beginning of the next.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function fixedWindow(options: WindowOptions): FixedWindow {
  return make('fixed-window', options)
}

/**
 * At most `limit` in any span of `per`, exactly: a log of what was admitted. What is exactly `per` old no longer counts.
 * Eight bytes on the store for each entry of the window.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function slidingWindow(options: WindowOptions): SlidingWindow {
  return make('sliding-window', options)
}

/**
 * The present window and what still overlaps of the one before, as if that had been spread evenly. Two numbers per subject,
 * whatever the limit; a span of `per` can hold more than `limit` when the traffic before was bunched (below twice as much).
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function slidingCounter(options: WindowOptions): SlidingCounter {
  return make('sliding-counter', options)
}

/**
 * Up to `capacity` at once, and `refill` per `per` in the long run: in any span t at most `capacity + t × refill / per`.
 * As GCRA, in one number per subject.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function tokenBucket(options: TokenBucketOptions): TokenBucket {
  return make('token-bucket', options)
}

/**
 * Shapes instead of refusing: those who are admitted go one after the other, `rate` per `per`. Each decision tells its
 * `delay`, which `waitFor` waits out; who would be the `capacity + 1`th in line is denied.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function leakyBucket(options: LeakyBucketOptions): LeakyBucket {
  return make('leaky-bucket', options)
}

/**
 * At most `limit` at once. A take is a slot, leased and renewed while it is held, and given back by `decision.slot.release()`
 * or by the end of `limiter.run`. A holder that dies frees its slot when the lease ends.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function concurrency(options: ConcurrencyOptions): Concurrency {
  return make('concurrency', options)
}

/**
 * Checks a policy wherever it came from.
 *
 * @throws InvalidArgumentError when it is none, or when one of its numbers is wrong
 */
export function checkPolicy(value: unknown, option: string): Policy {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined
  if (typeof kind === 'string' && Object.hasOwn(SHAPES, kind)) {
    const { kind: _kind, ...options } = value as Policy
    return make(kind as PolicyKind, options)
  }
  throw new InvalidArgumentError(option, value, {
    problem: 'is no policy',
    remedy:
      "Give slidingWindow({ limit: 100, per: '1m' }), tokenBucket(…) or another one, or an array of them.",
  })
}

/** The policy with other numbers; its kind and name stay. */
export function withNumbers(policy: Policy, numbers: unknown, where: string): Policy {
  const { call, numbers: known, time } = SHAPES[policy.kind]
  checkOptions(numbers, [...known, time], `${where} (${call} ${show(policy.name)})`)
  const { kind, ...rest } = policy
  return make(kind, { ...rest, ...(numbers as object) })
}

/** The name of a policy that was given none. */
export function derivedName(policy: Policy): string {
  const { word } = SHAPES[policy.kind]
  return policy.kind === 'concurrency' ? word : `${word}-${formatDuration(policy.per)}`
}

/** A policy as its maker would be called, for errors. */
export function describePolicy(policy: Policy): string {
  const { kind, ...options } = policy
  const parts = Object.entries(options).map(([key, value]) => `${key}: ${show(value)}`)
  return `${SHAPES[kind].call}({ ${parts.join(', ')} })`
}

function make<K extends PolicyKind>(kind: K, options: unknown): Extract<Policy, { kind: K }> {
  const { call, numbers, time, example } = SHAPES[kind]
  if (options === undefined) {
    throw new InvalidArgumentError(call, options, {
      problem: 'was given nothing',
      remedy: `Give ${example}.`,
    })
  }
  checkOptions(options, [...numbers, time, 'name'], call)
  const given = options as Readonly<Record<string, unknown>>
  const policy: Record<string, unknown> = { kind, name: '' }
  for (const number of numbers)
    policy[number] = checkNumber(given[number], `${call}.${number}`, kind, example)
  policy[time] = checkTime(given[time], time, call)
  const made = policy as unknown as Extract<Policy, { kind: K }>
  checkFillTime(made, call)
  policy['name'] = given['name'] === undefined ? derivedName(made) : checkName(given['name'], `${call}.name`)
  Object.freeze(made)
  return made
}

function checkNumber(value: unknown, option: string, kind: PolicyKind, example: string): number {
  const most = kind === 'sliding-window' ? bounds.maxExactLimit : bounds.maxCost
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value
  const tooMuch = typeof value === 'number' && value > most && Number.isInteger(value)
  throw new InvalidArgumentError(option, value, {
    problem: tooMuch ? 'is too much' : 'is not a whole number from 1',
    remedy: `Give a whole number from 1 to ${most}, as in ${example}.`,
  })
}

function checkTime(value: unknown, time: 'per' | 'lease', call: string): number {
  if (time === 'per') return parseDuration(value, `${call}.per`, { min: bounds.minPer, max: bounds.maxPer })
  const lease = value === undefined ? defaults.slotLease : value
  return parseDuration(lease, `${call}.lease`, { min: bounds.minTtl, max: bounds.maxTtl })
}

/** A bucket's key lives until it is full again. */
function checkFillTime(policy: Policy, call: string): void {
  const isBucket = policy.kind === 'token-bucket' || policy.kind === 'leaky-bucket'
  if (!isBucket || spanOf(policy) <= bounds.maxFillTime) return
  throw new InvalidArgumentError(`${call}.capacity`, capacityOf(policy), {
    problem: 'takes more than ten years to fill at this rate',
    remedy: 'Give a smaller capacity, or let more flow per time.',
  })
}

/** Length of the window of a policy, or the time in which an empty bucket fills, in ms; `null` for slots. */
export function windowOf(policy: Policy): number | null {
  if (policy.kind === 'concurrency') return null
  return policy.kind === 'sliding-counter' ? policy.per : spanOf(policy)
}

/** Printable ASCII, since it stands in HTTP headers. */
function checkName(value: unknown, option: string): string {
  const usable = typeof value === 'string' && /^[\x20-\x7e]+$/.test(value) && value.trim() === value
  if (usable && value.length <= bounds.maxPolicyName && !RESERVED_NAMES.includes(value)) return value
  const reserved = typeof value === 'string' && RESERVED_NAMES.includes(value)
  throw new InvalidArgumentError(option, value, {
    problem: reserved ? 'is a name of ours' : 'cannot be the name of a policy',
    remedy: `Give 1 to ${bounds.maxPolicyName} characters of printable ASCII, as 'hourly'.`,
  })
}
