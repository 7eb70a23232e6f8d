import { bounds, defaults } from '../defaults.ts'
import { parseDuration, type Duration } from '../duration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { show } from '../show.ts'
import { checkBoolean, checkFunction, checkOptions, checkSignal } from '../options.ts'
import type { Policies, LimitFor } from './policy-set.ts'

/** What is done when the store does not decide. */
export type StoreErrorChoice = 'throw' | 'deny' | 'allow' | 'local'

/** What `hf.limiter(name, policies, …)` takes. Durations are whole milliseconds, or text as `'30s'`. */
export interface LimiterOptions {
  /**
   * Other limits for some subjects, as `(user) => (isPaying(user) ? { limit: 1000 } : null)`. Called for every call about a
   * subject; what it throws comes out of that call. Usage carries over when the limits of a subject change.
   */
  limitFor?: LimitFor
  /** Whether denied takes count as well, as far as they fit. Default false. Denials are not remembered then. */
  countDenied?: boolean
  /** Decides and tells, but never denies: `allowed` is true and `wouldDeny` says what it would have been. Default false. */
  shadow?: boolean
  /**
   * When the store does not decide within the budget. `'throw'`: StoreUnavailableError or StoreRefusedError. `'deny'`,
   * `'allow'`: everything. `'local'`: this process limits by its own share of each limit. Default `'throw'`; in shadow mode
   * `'allow'`.
   */
  onStoreError?: StoreErrorChoice
  /** For `'local'`: how many instances share the limits, so that each takes its part. Default 1: all of it. */
  instances?: number
  /** The longest time for one call to the store, its repeats included. 30 ms to 60 s; default 100 ms. */
  budget?: Duration
  /** How long a denial is answered from memory, at most until its retry. Default and at most 1 s; 0 or false: not at all. */
  rememberFor?: Duration | false
  /**
   * Takes so many at once and gives them out without asking: a round trip for every `lease` takes. In any span a limit may
   * be exceeded by at most `lease` for each process. Not with leaky buckets, slots or `countDenied`. Default: none.
   */
  lease?: number
  /** How many calls may wait for one subject in this process. 1 to 100 000; default 1000. */
  maxWaiting?: number
}

/** What `take` takes. */
export interface TakeOptions {
  /** How much it counts. A whole number from 1; default 1. */
  cost?: number
  /** Ends the call: it rejects with the signal's reason at once, and what it may have counted is given back. */
  signal?: AbortSignal
}

/** What `peek` takes. */
export interface PeekOptions {
  /** The cost that is asked about. A whole number from 1; default 1. */
  cost?: number
}

/** What `waitFor` and `run` take. */
export interface WaitOptions extends TakeOptions {
  /** How long to wait for capacity; 0 asks once. At most 24 h; default 5 s. */
  wait?: Duration
}

/** What `reserve` takes. */
export interface ReserveOptions extends TakeOptions {
  /** How long it may stay unsettled. 1 ms to 24 h; default 60 s. */
  for?: Duration
  /** What becomes of it then: `'settle'`: it stays counted at its cost; `'return'`: it is given back. Default `'settle'`. */
  atEnd?: 'settle' | 'return'
}

/** The options of a limiter, checked and in milliseconds. */
export interface CheckedLimiterOptions {
  readonly limitFor: LimitFor | null
  readonly countDenied: boolean
  readonly shadow: boolean
  readonly onStoreError: StoreErrorChoice
  readonly instances: number
  readonly budget: number
  /** 0: not at all. */
  readonly rememberFor: number
  /** `null`: none. */
  readonly lease: number | null
  readonly maxWaiting: number
}

/** The options of a call, checked and in milliseconds. */
export interface CheckedTakeOptions {
  readonly cost: number
  readonly signal: AbortSignal | null
}

const LIMITER_OPTIONS = [
  'limitFor',
  'countDenied',
  'shadow',
  'onStoreError',
  'instances',
  'budget',
  'rememberFor',
  'lease',
  'maxWaiting',
]
const ON_STORE_ERROR: readonly unknown[] = ['throw', 'deny', 'allow', 'local']
const ONE: CheckedTakeOptions = { cost: 1, signal: null }

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkLimiterOptions(options: LimiterOptions = {}, policies: Policies): CheckedLimiterOptions {
  checkOptions(options, LIMITER_OPTIONS, 'limiter')
  const { limitFor, countDenied = false, shadow = false, lease, rememberFor } = options
  if (limitFor !== undefined)
    checkFunction(limitFor, 'limitFor', '(user) => (isPaying(user) ? { limit: 1000 } : null)')
  checkBoolean(countDenied, 'countDenied')
  checkBoolean(shadow, 'shadow')
  const { onStoreError = shadow ? 'allow' : defaults.onStoreError, budget = defaults.limitBudget } = options
  const { instances = defaults.instances, maxWaiting = defaults.maxWaiting } = options
  const checked: CheckedLimiterOptions = {
    limitFor: limitFor ?? null,
    countDenied,
    shadow,
    onStoreError: checkOnStoreError(onStoreError),
    instances: checkWhole(instances, 'instances', bounds.maxInstances),
    budget: parseDuration(budget, 'budget', { min: bounds.minBudget, max: bounds.maxBudget }),
    rememberFor: checkRememberFor(rememberFor, countDenied),
    lease: lease === undefined ? null : checkWhole(lease, 'lease', bounds.maxTokenLease),
    maxWaiting: checkWhole(maxWaiting, 'maxWaiting', bounds.maxWaiting),
  }
  if (checked.lease !== null) checkMayLease(checked.lease, policies, countDenied)
  return checked
}

/** @throws InvalidArgumentError when `value` is not a whole number from 1 to `most` */
function checkWhole(value: unknown, option: string, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value
  throw new InvalidArgumentError(option, value, {
    problem: `is not a whole number from 1 to ${most}`,
    remedy: 'Give a number such as 1.',
  })
}

function checkOnStoreError(value: unknown): StoreErrorChoice {
  if (ON_STORE_ERROR.includes(value)) return value as StoreErrorChoice
  throw new InvalidArgumentError('onStoreError', value, {
    problem: 'is not a thing to do',
    remedy: `Give one of: ${ON_STORE_ERROR.map(show).join(', ')}.`,
  })
}

function checkRememberFor(value: unknown, countDenied: boolean): number {
  if (value === false || value === 0) return 0
  const ms = parseDuration(value === undefined ? defaults.rememberFor : value, 'rememberFor', {
    min: 0,
    max: bounds.maxRememberFor,
  })
  if (!countDenied) return ms
  if (value === undefined || ms === 0) return 0
  throw new InvalidArgumentError('rememberFor', value, {
    problem: 'is set together with countDenied, where every denied take has to reach the store',
    remedy: 'Leave one of them out.',
  })
}

function checkMayLease(lease: number, policies: Policies, countDenied: boolean): void {
  const unfit = policies.find(({ kind }) => kind === 'leaky-bucket' || kind === 'concurrency')
  if (unfit === undefined && !countDenied) return
  const why = unfit === undefined ? 'countDenied' : `the policy ${show(unfit.name)} (${unfit.kind})`
  throw new InvalidArgumentError('lease', lease, {
    problem: `is set together with ${why}, where every take has to reach the store`,
    remedy: 'Leave lease out, or make it a limiter of windows and token buckets.',
  })
}

/** @throws InvalidArgumentError when it is not a whole number from 1 to 2³¹ − 1 */
export function checkCost(cost: unknown, option = 'cost', least = 1): number {
  if (typeof cost === 'number' && Number.isInteger(cost) && cost >= least && cost <= bounds.maxCost)
    return cost
  throw new InvalidArgumentError(option, cost, {
    problem: `is not a whole number from ${least} to ${bounds.maxCost}`,
    remedy: 'Give how much the call counts; what was taken is given back by refund().',
  })
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkTakeOptions(options: TakeOptions | undefined): CheckedTakeOptions {
  if (options === undefined) return ONE
  checkOptions(options, ['cost', 'signal'], 'take')
  return checkTaking(options)
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkPeekOptions(options: PeekOptions | undefined): number {
  checkOptions(options, ['cost'], 'peek')
  const { cost = 1 } = options ?? {}
  return checkCost(cost)
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkWaitOptions(
  options: WaitOptions | undefined,
  where: string,
): CheckedTakeOptions & { readonly wait: number } {
  checkOptions(options, ['cost', 'wait', 'signal'], where)
  const { wait = defaults.wait, ...rest } = options ?? {}
  return { ...checkTaking(rest), wait: parseDuration(wait, 'wait', { min: 0, max: bounds.maxWait }) }
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkReserveOptions(
  options: ReserveOptions | undefined,
): CheckedTakeOptions & { readonly time: number; readonly atEnd: 'settle' | 'return' } {
  checkOptions(options, ['cost', 'for', 'atEnd', 'signal'], 'reserve')
  const { for: time = defaults.reserveFor, atEnd = defaults.atEnd, ...rest } = options ?? {}
  if (!['settle', 'return'].includes(atEnd)) {
    throw new InvalidArgumentError('atEnd', atEnd, {
      problem: 'is not an end of a reservation',
      remedy: 'Give "settle" (it stays counted) or "return" (it is given back).',
    })
  }
  return {
    ...checkTaking(rest),
    time: parseDuration(time, 'for', { min: 1, max: bounds.maxReserveFor }),
    atEnd,
  }
}

function checkTaking({ cost = 1, signal }: TakeOptions): CheckedTakeOptions {
  return { cost: checkCost(cost), signal: signal === undefined ? null : checkSignal(signal, 'signal') }
}
