import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { InvalidArgumentError, isHoldfastError } from '../errors.ts'
import type { Decision } from '../limit/decision.ts'
import {
  checkLimiter,
  checkRateLimitOptions,
  type CheckedRateLimitOptions,
  type RateLimitOptions,
  type RequestLimiter,
} from './options.ts'
import { PROBLEM_JSON, quotaExceeded, reducedCapacity } from './problem.ts'
import { rateLimitFields, retryAfterSeconds, type HeaderField } from './ratelimit-fields.ts'
import type { HttpRequest } from './request.ts'

/** What shall become of a request. */
export type RateLimitOutcome = AllowedRequest | RefusedRequest

/** The handler runs. */
export interface AllowedRequest {
  readonly allowed: true
  /** To be added to the response. */
  readonly headers: readonly HeaderField[]
  /** `null` when the request was skipped. */
  readonly decision: Decision | null
  /** The limiter's name. */
  readonly limiter: string
  /**
   * To be called when the request is over, the response sent or given up: gives back the slot of a concurrency limit, which
   * stays taken until then. Never throws; a slot that cannot be given back ends with its lease. Does nothing under other
   * policies, and when called again.
   */
  finish(): void
}

/** The handler does not run; this is the response. */
export interface RefusedRequest {
  readonly allowed: false
  /** 429: denied. 503: the store of the limits is down, and the limiter's `onStoreError` is `'throw'`. */
  readonly status: 429 | 503
  readonly headers: readonly HeaderField[]
  /** A problem document (RFC 9457) in JSON. */
  readonly body: string
  /** `null` with 503. */
  readonly decision: Decision | null
  /** The limiter's name. */
  readonly limiter: string
}

/** Decides about one request, as the framework has it and as the core sees it. */
export type RequestCheck<Request> = (request: Request, view: HttpRequest) => Promise<RateLimitOutcome>

/**
 * When a client shall come back whose request could not be decided: soon, for a store is mostly back within seconds, and an
 * answer costs next to nothing while it is known to be down.
 */
const RETRY_AFTER_OUTAGE_S = 1
/** Of the SHA-256 of a key: enough that two keys never meet. */
const PARTITION_KEY_BYTES = 16

/** The core that all shells share. @throws InvalidArgumentError that names option, value and remedy */
export function requestCheck<Request>(
  limiter: RequestLimiter,
  options?: RateLimitOptions<Request>,
): RequestCheck<Request> {
  checkLimiter(limiter)
  const checked = checkRateLimitOptions(options)
  return async (request, view) => {
    if (checked.skip !== null && (await checked.skip(request, view)))
      return { allowed: true, headers: [], decision: null, limiter: limiter.name, finish: () => undefined }
    const key = await keyOf(request, view, checked)
    const cost = typeof checked.cost === 'number' ? checked.cost : await checked.cost(request, view)
    let taken: Decision
    try {
      taken = await limiter.take(key, { cost })
    } catch (error) {
      if (isOutage(error)) return outage(limiter.name)
      throw error
    }
    try {
      const { maxDelay, clock } = checked
      const decision = maxDelay === null ? taken : await shape(taken, key, limiter, maxDelay, clock)
      const partition = await partitionOf(key, request, checked)
      const outcome = outcomeOf(decision, partition, limiter.name, checked)
      if (!outcome.allowed) giveBack(taken)
      return outcome
    } catch (error) {
      // A slot is renewed for as long as nobody gives it back.
      giveBack(taken)
      throw error
    }
  }
}

function giveBack({ slot }: Decision): void {
  slot?.release().catch(() => undefined)
}

async function keyOf<Request>(
  request: Request,
  view: HttpRequest,
  options: CheckedRateLimitOptions<Request>,
): Promise<string> {
  const key: unknown = await options.key(request, view)
  if (typeof key === 'string' && key !== '') return key
  throw new InvalidArgumentError('key', key, {
    problem: 'is what key(request) gave, which is no text that could be limited',
    remedy: 'Give a text that is not empty for every request; requests without limit are for skip.',
  })
}

/** Whether it is unknown if the request may pass. A wrong argument, a closed instance, a fault in `key`: those are errors. */
function isOutage(error: unknown): boolean {
  return isHoldfastError(error, 'STORE_UNAVAILABLE') || isHoldfastError(error, 'STORE_REFUSED')
}

function outage(limiter: string): RefusedRequest {
  return {
    allowed: false,
    status: 503,
    headers: [
      ['Retry-After', String(RETRY_AFTER_OUTAGE_S)],
      ['Content-Type', PROBLEM_JSON],
    ],
    body: reducedCapacity(503),
    decision: null,
    limiter,
  }
}

function outcomeOf(
  decision: Decision,
  partitionKey: Uint8Array | null,
  limiter: string,
  { quotaUnit, legacy, clock }: Pick<CheckedRateLimitOptions<never>, 'quotaUnit' | 'legacy' | 'clock'>,
): RateLimitOutcome {
  const headers = rateLimitFields(decision, {
    quotaUnit,
    partitionKey,
    legacy,
    now: legacy === 'epoch' ? clock.wall() : 0,
  })
  if (decision.allowed) return { allowed: true, headers, decision, limiter, finish: () => giveBack(decision) }
  const wait = retryAfterSeconds(decision)
  if (wait !== null) headers.push(['Retry-After', String(wait)])
  headers.push(['Content-Type', PROBLEM_JSON])
  return { allowed: false, status: 429, headers, body: quotaExceeded(decision), decision, limiter }
}

async function partitionOf<Request>(
  key: string,
  request: Request,
  { partitionKey }: CheckedRateLimitOptions<Request>,
): Promise<Uint8Array | null> {
  if (typeof partitionKey !== 'function') return partitionKey ? hashOf(key) : null
  const given: unknown = await partitionKey(key, request)
  if (given instanceof Uint8Array) return given
  if (given === undefined || given === null) return null
  if (typeof given === 'string') return Buffer.from(given, 'utf8')
  throw new InvalidArgumentError('partitionKey', given, {
    problem: 'is what partitionKey(key, request) gave, which is neither text nor bytes',
    remedy: 'Give a text or a Uint8Array for every request; or true, for a hash of the key.',
  })
}

function hashOf(key: string): Uint8Array {
  return createHash('sha256').update(key, 'utf8').digest().subarray(0, PARTITION_KEY_BYTES)
}

/** Waits for the turn that a leaky bucket gave, or turns the decision into a refusal where that is too far away. */
async function shape(
  decision: Decision,
  key: string,
  limiter: RequestLimiter,
  maxDelay: number,
  clock: Clock,
): Promise<Decision> {
  if (!decision.allowed || decision.delay <= 0) return decision
  if (decision.delay <= maxDelay) {
    await new Promise<void>((resolve) => clock.setTimer(resolve, decision.delay, { keepAlive: true }))
    return decision
  }
  // Its place in the line is not needed. If it cannot be given back it leaks out by itself.
  await limiter.refund?.(key, decision).catch(() => undefined)
  const retryAfter = decision.delay - maxDelay
  return {
    ...decision,
    allowed: false,
    retryAfter,
    policies: decision.policies.map((policy) =>
      policy.kind === 'leaky-bucket' ? { ...policy, allowed: false, retryAfter } : policy,
    ),
  }
}
