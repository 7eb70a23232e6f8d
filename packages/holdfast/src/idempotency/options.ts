import { bounds, defaults } from '../defaults.ts'
import { parseDuration, type Duration } from '../duration.ts'
import { InvalidArgumentError, type WorkOutcome } from '../errors.ts'
import { show } from '../show.ts'
import { checkMethods, checkOptions, checkSignal, checkSyncFunction } from '../options.ts'
import { jsonCodec, type OutcomeCodec } from './codec.ts'
import { isFinalError } from './final-error.ts'
import { fingerprintOf } from './fingerprint.ts'

/** What `hf.idempotency` takes. */
export interface IdempotencyOptions {
  /** How long a key stays with a runner that died; renewed every third of it while the work runs. 10 ms to 24 h; default 30 s. */
  lease?: Duration
  /** How long an outcome is replayed. Not shorter than the lease; at most 365 days; default 24 h. */
  retention?: Duration
  /**
   * What becomes of a key whose runner died: `'fail'`: repeats reject with OutcomeUnknownError until somebody settles it (the
   * effect happens at most once); `'retry'`: the next call runs the work again (at least once), and `run.attempt` tells.
   * Default `'fail'`.
   */
  onAbandoned?: 'fail' | 'retry'
  /**
   * Which outcomes are stored and replayed; others free the key. Called with `{ value }` or `{ error }`; returns a boolean, at once.
   * Default: all values, and errors that were marked by `finalError`.
   */
  isFinal?: (outcome: WorkOutcome) => boolean
  /** Turns outcomes into what is stored, and back. Default JSON. */
  codec?: OutcomeCodec
  /** The largest outcome that is stored, in bytes as encoded. 1 to 16 MiB; default 256 KiB. */
  maxBytes?: number
  /**
   * When the store does not say whether the work may run: `'throw'`, or `'run'` it all the same, unprotected against other
   * processes. Default `'throw'`.
   */
  onStoreError?: 'throw' | 'run'
  /** The longest time for one operation on the store, its repeats included. 30 ms to 60 s; default 1 s. */
  budget?: Duration
}

/** Which run is meant. */
export interface IdempotencyKey {
  /** What the caller repeats when it repeats a request, as the value of an `Idempotency-Key` header. */
  key: string
  /** Whose key it is: a user's or tenant's id, or `'global'`. Equal keys of different scopes are different. */
  scope: string
}

/** What `run` takes. */
export interface IdempotentRunOptions {
  /**
   * The payload: bytes, or anything that JSON can hold. The same key with another payload is refused. Default: not compared.
   */
  fingerprint?: unknown
  /** How long to wait for the outcome of a run that goes on elsewhere. At most 24 h; default 0: told at once. */
  wait?: Duration
  /** Ends the wait: `run` rejects with the signal's reason. Work of this call that has begun goes on, and is waited for. */
  signal?: AbortSignal
  /**
   * A transaction of yours on the database of the store, for stores over SQL: the outcome is stored in it, and commits with what the work
   * writes there, both or neither. For Postgres the client of pg on which you ran `BEGIN`, or what `sql.begin` of postgres.js hands on; for
   * MySQL the connection of mysql2 after `beginTransaction()`; for SQLite the database after `BEGIN IMMEDIATE`, where `wait` is in vain. Default: the store's own transactions, before the work and after it.
   */
  transaction?: unknown
}

/** What a key comes to whose run ended unknown. */
export type Settlement = { readonly value: unknown } | { readonly retry: true }

/** The options of an idempotency, checked and in milliseconds. */
export interface CheckedIdempotencyOptions {
  readonly lease: number
  readonly retention: number
  readonly retryAbandoned: boolean
  readonly isFinal: (outcome: WorkOutcome) => boolean
  readonly codec: OutcomeCodec
  readonly maxBytes: number
  readonly runsUnprotected: boolean
  readonly budget: number
}

/** The options of a call, checked and in milliseconds. */
export interface CheckedRunOptions {
  readonly fingerprint: string | null
  readonly wait: number
  readonly signal: AbortSignal | null
  /** `null` when the outcome is stored by itself. */
  readonly transaction: { readonly given: unknown } | null
}

const OPTIONS = [
  'lease',
  'retention',
  'onAbandoned',
  'isFinal',
  'codec',
  'maxBytes',
  'onStoreError',
  'budget',
]

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkIdempotencyOptions(options: IdempotencyOptions = {}): CheckedIdempotencyOptions {
  checkOptions(options, OPTIONS, 'idempotency')
  const { isFinal = finalByDefault, codec = jsonCodec, maxBytes = defaults.maxBytes } = options
  const { onAbandoned = defaults.onAbandoned, onStoreError = defaults.onStoreError } = options
  const { lease: leaseWish = defaults.runLease, budget = defaults.budget } = options
  const lease = parseDuration(leaseWish, 'lease', { min: bounds.minTtl, max: bounds.maxTtl })
  checkSyncFunction(isFinal, 'isFinal', "(outcome) => 'value' in outcome && outcome.value.status < 500")
  checkMethods(codec, ['encode', 'decode'], 'codec')
  return {
    lease,
    retention: checkRetention(lease, options.retention),
    retryAbandoned: oneOf(onAbandoned, 'onAbandoned', ['fail', 'retry']) === 'retry',
    isFinal,
    codec,
    maxBytes: checkMaxBytes(maxBytes),
    runsUnprotected: oneOf(onStoreError, 'onStoreError', ['throw', 'run']) === 'run',
    budget: parseDuration(budget, 'budget', { min: bounds.minBudget, max: bounds.maxBudget }),
  }
}

function checkRetention(lease: number, value: Duration = Math.max(defaults.retention, lease)): number {
  const retention = parseDuration(value, 'retention', { min: 1, max: bounds.maxRetention })
  if (retention >= lease) return retention
  throw new InvalidArgumentError('retention', value, {
    problem: `is shorter than the lease (${lease} ms), so that a record would be gone while its work still runs`,
    remedy: 'Give a retention of hours or days, or a shorter lease.',
  })
}

function checkMaxBytes(value: unknown): number {
  const fits = typeof value === 'number' && Number.isInteger(value) && value >= 1
  if (fits && value <= bounds.maxOutcomeBytes) return value
  throw new InvalidArgumentError('maxBytes', value, {
    problem: `is not a whole number from 1 to ${bounds.maxOutcomeBytes}`,
    remedy: `Give bytes, as ${defaults.maxBytes}; keep larger outcomes elsewhere, and return where they are.`,
  })
}

function oneOf<T extends string>(value: unknown, option: string, choices: readonly T[]): T {
  if (choices.includes(value as T)) return value as T
  throw new InvalidArgumentError(option, value, {
    problem: 'is not a thing to do',
    remedy: `Give one of: ${choices.map(show).join(', ')}.`,
  })
}

/**
 * Checks which run is meant.
 *
 * @throws InvalidArgumentError also when no scope was given: whose key it is must be said
 */
export function checkKeyAndScope(ask: unknown, where: string): IdempotencyKey {
  checkOptions(ask ?? null, ['key', 'scope'], where)
  const { key, scope } = ask as Partial<IdempotencyKey>
  checkText(key, 'key', 'Give what the client repeats, as the value of its Idempotency-Key header.')
  checkText(scope, 'scope', "Say whose key it is: a user's or tenant's id, or 'global' for everybody's.")
  return { key: key as string, scope: scope as string }
}

function checkText(value: unknown, option: string, remedy: string): void {
  if (typeof value === 'string' && value !== '') return
  const problem = value === undefined ? 'is missing' : 'is not a text'
  throw new InvalidArgumentError(option, value, { problem, remedy })
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkRunOptions(options: IdempotentRunOptions | undefined): CheckedRunOptions {
  checkOptions(options, ['fingerprint', 'wait', 'signal', 'transaction'], 'run')
  const { fingerprint, wait = defaults.repeatWait, signal, transaction } = options ?? {}
  return {
    fingerprint: fingerprint === undefined ? null : fingerprintOf(fingerprint),
    wait: parseDuration(wait, 'wait', { min: 0, max: bounds.maxWait }),
    signal: signal === undefined ? null : checkSignal(signal, 'signal'),
    transaction: transaction === undefined ? null : { given: transaction },
  }
}

/**
 * What is to be stored; `null`: nothing, it may run again.
 *
 * @throws InvalidArgumentError when it says neither or both
 */
export function checkSettlement(settlement: unknown): { readonly value: unknown } | null {
  checkOptions(settlement ?? null, ['value', 'retry'], 'settle')
  const { retry } = settlement as { retry?: unknown }
  const hasValue = Object.hasOwn(settlement as object, 'value')
  if (hasValue && retry === undefined) return { value: (settlement as { value: unknown }).value }
  if (!hasValue && retry === true) return null
  throw new InvalidArgumentError('settle', settlement, {
    problem: 'does not say what the key comes to',
    remedy: 'Give { value } for the outcome to be replayed, or { retry: true } to let it run again.',
  })
}

function finalByDefault(outcome: WorkOutcome): boolean {
  return 'value' in outcome || isFinalError(outcome.error)
}
