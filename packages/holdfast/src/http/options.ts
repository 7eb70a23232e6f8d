import { systemClock, type Clock } from '../clock.ts'
import { parseDuration, type Duration } from '../duration.ts'
import { InvalidArgumentError } from '../errors.ts'
import type { Decision } from '../limit/decision.ts'
import { checkBoolean, checkFunction, checkMethods, checkOptions } from '../options.ts'
import { clientAddress } from './client-address.ts'
import type { HttpRequest } from './request.ts'

/** What the middleware needs of a limiter; `hf.limiter(…)` has it. */
export interface RequestLimiter {
  /** For `decisionOf`. */
  readonly name: string
  /** Decides about one request. */
  take(subject: string, options: { cost: number }): Promise<Decision>
  /** Gives back what a request counted that was refused because of `maxDelay`. Without it, it stays counted. */
  refund?(subject: string, decision: Decision): Promise<unknown>
}

/** What tells a client which partition it is in. */
type PartitionKey = string | Uint8Array

/** What `rateLimit(limiter, …)` takes. The functions get the framework's own request, and what the core sees of it. */
export interface RateLimitOptions<Request = HttpRequest> {
  /**
   * Who is limited, as `(request) => request.user.id`. Must give a text that is not empty; anything else is an error, for
   * nobody shall be unlimited by mistake: use `skip` for those who are. Default: `clientAddress()`, the socket's address.
   */
  key?: (request: Request, view: HttpRequest) => string | Promise<string>
  /** What a request costs, a whole number from 1. Default 1. */
  cost?: number | ((request: Request, view: HttpRequest) => number | Promise<number>)
  /** Whether a request is not limited at all; asked first. Default: none is skipped. */
  skip?: (request: Request, view: HttpRequest) => boolean | Promise<boolean>
  /**
   * Whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` are sent as well. `true`: the reset in seconds from now;
   * `'epoch'`: in seconds since 1970, by this machine's clock. Default false.
   */
  legacyHeaders?: boolean | 'epoch'
  /** What is counted, for `qu` in `RateLimit-Policy`: `'requests'`, `'content-bytes'` or your own. Default: not told, which means requests. */
  quotaUnit?: string
  /**
   * Whether the partition is told, as `pk`. `true`: 16 bytes of the SHA-256 of the key; a function: what it gives. Goes to
   * the client, so give nothing that is secret. Default false.
   */
  partitionKey?: boolean | ((key: string, request: Request) => PartitionKey | Promise<PartitionKey>)
  /**
   * With a leaky bucket: the request waits until its turn, at most this long (up to 60 s). One whose turn comes later is
   * refused, and what it counted is given back. Default: nobody waits, and `decisionOf(request).delay` tells.
   */
  maxDelay?: Duration
  /** Clocks and timers; for tests. */
  clock?: Clock
}

/** What each shell takes. */
export const RATE_LIMIT_OPTIONS: readonly string[] = [
  'key',
  'cost',
  'skip',
  'legacyHeaders',
  'quotaUnit',
  'partitionKey',
  'maxDelay',
  'clock',
]
/** A client, and the proxies before us, rarely wait longer for an answer to begin. */
const LONGEST_DELAY = 60_000

/** The options, checked. */
export interface CheckedRateLimitOptions<Request> {
  readonly key: (request: Request, view: HttpRequest) => string | Promise<string>
  readonly cost: number | ((request: Request, view: HttpRequest) => number | Promise<number>)
  readonly skip: ((request: Request, view: HttpRequest) => boolean | Promise<boolean>) | null
  readonly legacy: 'seconds' | 'epoch' | null
  readonly quotaUnit: string | null
  readonly partitionKey: boolean | ((key: string, request: Request) => PartitionKey | Promise<PartitionKey>)
  readonly maxDelay: number | null
  readonly clock: Clock
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkLimiter(limiter: unknown): void {
  checkMethods(limiter, ['take'], 'limiter', 'Give what hf.limiter(…) makes.')
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkRateLimitOptions<Request>(
  options: RateLimitOptions<Request> = {},
): CheckedRateLimitOptions<Request> {
  checkOptions(options, RATE_LIMIT_OPTIONS, 'rateLimit')
  const {
    key,
    cost = 1,
    skip,
    partitionKey = false,
    maxDelay,
    clock = systemClock,
    legacyHeaders = false,
  } = options
  if (key !== undefined) checkFunction(key, 'key', '(request) => request.user.id')
  if (typeof cost !== 'function') checkCost(cost)
  if (skip !== undefined) checkFunction(skip, 'skip', "(request) => request.url === '/health'")
  if (typeof partitionKey !== 'function') checkBoolean(partitionKey, 'partitionKey')
  checkMethods(clock, ['wall', 'setTimer'], 'clock')
  return {
    key: key ?? clientAddress(),
    cost,
    skip: skip ?? null,
    legacy: checkLegacy(legacyHeaders),
    quotaUnit: checkUnit(options.quotaUnit),
    partitionKey,
    maxDelay:
      maxDelay === undefined ? null : parseDuration(maxDelay, 'maxDelay', { min: 1, max: LONGEST_DELAY }),
    clock,
  }
}

function checkCost(cost: unknown): void {
  if (Number.isInteger(cost) && (cost as number) >= 1 && (cost as number) < 2 ** 31) return
  throw new InvalidArgumentError('cost', cost, {
    problem: 'is not a cost',
    remedy:
      'Give a whole number from 1, or a function that gives one; requests that cost nothing are for skip.',
  })
}

function checkLegacy(value: unknown): CheckedRateLimitOptions<unknown>['legacy'] {
  if (value === 'epoch') return 'epoch'
  if (typeof value === 'boolean') return value ? 'seconds' : null
  throw new InvalidArgumentError('legacyHeaders', value, {
    problem: 'is none of the choices',
    remedy: "Give true, false or 'epoch'.",
  })
}

function checkUnit(unit: unknown): string | null {
  if (unit === undefined) return null
  if (typeof unit === 'string' && /^[\x21-\x7e]+$/.test(unit)) return unit
  throw new InvalidArgumentError('quotaUnit', unit, {
    problem: 'cannot be a quota unit',
    remedy: "Give a name in printable ASCII, as 'requests' or 'content-bytes'.",
  })
}
