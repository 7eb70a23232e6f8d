import { systemClock, type Clock } from '../../clock.ts'
import { bounds, defaults } from '../../defaults.ts'
import { parseDuration, type Duration } from '../../duration.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { IdempotentOutcome } from '../../idempotency/idempotency.ts'
import type { IdempotentRun } from '../../idempotency/execution.ts'
import type { IdempotencyKey, IdempotentRunOptions } from '../../idempotency/options.ts'
import { checkBoolean, checkFunction, checkMethods, checkOptions, checkSyncFunction } from '../../options.ts'
import type { HeadersLike, HttpRequest } from '../request.ts'
import { isFinalStatus } from './final-status.ts'
import { checkReplayed } from './replayed-fields.ts'

/** What the middleware needs of an idempotency; `hf.idempotency(…)` has it. */
export interface RequestIdempotency {
  readonly name: string
  /** The largest outcome that it stores, in bytes. */
  readonly maxBytes: number
  /** Runs the work once for each key, or replays its outcome. */
  run<T>(
    ask: IdempotencyKey,
    options: IdempotentRunOptions,
    work: (run: IdempotentRun) => Promise<T>,
  ): Promise<IdempotentOutcome<T>>
}

/** The answer of a handler, as `isFinal` sees it. */
export interface HandlerAnswer {
  readonly status: number
  readonly headers: HeadersLike
}

/** What `idempotent(idempotency, …)` takes. The functions get the framework's own request, and what the core sees of it. */
export interface IdempotentOptions<Request = HttpRequest> {
  /**
   * Whose keys they are, as `(request) => request.user.id`: one user's key never replays another's answer. `'global'` says that
   * everybody shares them. Must be said. A function must give a text that is not empty; anything else is an error.
   */
  scope: 'global' | ((request: Request, view: HttpRequest) => string | Promise<string>)
  /** Whether a request without the header is refused with 400. With `false` its handler runs, and repeats are not noticed. Default true. */
  required?: boolean
  /** Requests of other methods are not looked at. Default `['POST', 'PATCH']`. */
  methods?: readonly string[]
  /**
   * The payload: the same key with another one is refused with 422. `false`: not compared. Default: the query and the body, JSON
   * in its canonical form and all else by its bytes. Multipart bodies need a function.
   */
  fingerprint?: false | ((request: Request, view: HttpRequest) => unknown)
  /**
   * Which answers are stored and replayed; others free the key, so that a repeat runs the handler again. Default: all but 5xx, 401,
   * 403, 407, 408, 409, 421, 423, 424, 425, 428 and 429.
   */
  isFinal?: (answer: HandlerAnswer) => boolean
  /** Header fields of the answer that are replayed beside the usual ones, as `['X-Order-Id']`. Hop-by-hop fields are refused. Default: none. */
  replayHeaders?: readonly string[]
  /** How long a repeat waits for the answer of a first request that goes on. At most 24 h; default 0: 409 at once. */
  wait?: Duration
  /**
   * The longest time for a handler. One that has not answered by then is given up: its key is not renewed any more, and when the
   * lease is over `onAbandoned` decides. 10 ms to 24 h; default 5 min.
   */
  maxRun?: Duration
  /** How long a handler may go on after its client has gone, before it is given up in the same way. 0 to 24 h; default 30 s. */
  afterDisconnect?: Duration
  /** Clocks and timers; for tests. */
  clock?: Clock
}

const OPTIONS = [
  'scope',
  'required',
  'methods',
  'fingerprint',
  'isFinal',
  'replayHeaders',
  'wait',
  'maxRun',
  'afterDisconnect',
  'clock',
]

/** The options, checked and in milliseconds. */
export interface CheckedIdempotentOptions<Request> {
  readonly scope: 'global' | ((request: Request, view: HttpRequest) => string | Promise<string>)
  readonly required: boolean
  readonly methods: ReadonlySet<string>
  readonly fingerprint: false | null | ((request: Request, view: HttpRequest) => unknown)
  readonly isFinal: (answer: HandlerAnswer) => boolean
  readonly isReplayed: (name: string) => boolean
  readonly wait: number
  readonly maxRun: number
  readonly afterDisconnect: number
  readonly clock: Clock
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkIdempotentOptions<Request>(
  options: IdempotentOptions<Request>,
): CheckedIdempotentOptions<Request> {
  // Its absence is told as that of the scope, which a caller without options has forgotten.
  const given: Partial<IdempotentOptions<Request>> = options ?? {}
  checkOptions(given, OPTIONS, 'idempotent')
  const { fingerprint, isFinal = ({ status }) => isFinalStatus(status), clock = systemClock } = given
  const { required = true, methods = ['POST', 'PATCH'], replayHeaders = [] } = given
  const { wait = defaults.repeatWait, maxRun = defaults.maxRun } = given
  const { afterDisconnect = defaults.afterDisconnect } = given
  checkSyncFunction(isFinal, 'isFinal', '({ status }) => status < 500')
  if (fingerprint !== undefined && fingerprint !== false)
    checkFunction(fingerprint, 'fingerprint', '(request) => request.body')
  checkMethods(clock, ['setTimer'], 'clock')
  return {
    scope: checkScope(given.scope),
    required: checkBoolean(required, 'required'),
    methods: checkVerbs(methods),
    fingerprint: fingerprint ?? null,
    isFinal,
    isReplayed: checkReplayed(replayHeaders),
    wait: parseDuration(wait, 'wait', { min: 0, max: bounds.maxWait }),
    maxRun: parseDuration(maxRun, 'maxRun', { min: bounds.minTtl, max: bounds.maxTtl }),
    afterDisconnect: parseDuration(afterDisconnect, 'afterDisconnect', { min: 0, max: bounds.maxTtl }),
    clock,
  }
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkIdempotency(idempotency: unknown): void {
  checkMethods(idempotency, ['run'], 'idempotency', 'Give what hf.idempotency(…) makes.')
  // A limiter and a lock have a method of that name too.
  if (Number.isInteger((idempotency as Partial<RequestIdempotency>).maxBytes)) return
  throw new InvalidArgumentError('idempotency', idempotency, {
    problem: 'is no idempotency',
    remedy: "Give what hf.idempotency('orders') makes.",
  })
}

function checkScope<Request>(scope: IdempotentOptions<Request>['scope'] | undefined) {
  if (scope === 'global' || typeof scope === 'function') return scope
  throw new InvalidArgumentError('scope', scope, {
    problem: scope === undefined ? 'is missing' : 'does not say whose keys they are',
    remedy:
      "Give a function, as (request) => request.user.id, so that one user's key never replays another's answer; or 'global'.",
  })
}

function checkVerbs(methods: unknown): ReadonlySet<string> {
  const isVerb = (each: unknown) => typeof each === 'string' && /^[!#$%&'*+.^_`|~0-9A-Z-]+$/.test(each)
  if (Array.isArray(methods) && methods.length > 0 && methods.every(isVerb))
    return new Set(methods as string[])
  throw new InvalidArgumentError('methods', methods, {
    problem: 'is no list of methods',
    remedy: "Give methods in capitals, as ['POST', 'PATCH'].",
  })
}
