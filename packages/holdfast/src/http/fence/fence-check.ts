import { InvalidArgumentError, isHoldfastError } from '../../errors.ts'
import { checkBoolean, checkFunction, checkOptions } from '../../options.ts'
import { PROBLEM_JSON } from '../problem.ts'
import type { HeaderField } from '../ratelimit-fields.ts'
import type { HttpRequest } from '../request.ts'
import { FENCE_FIELD, LOCK_FIELD, readFields } from './fence-field.ts'

/** What `requireFence` takes. The functions get the framework's own request, and what the core sees of it. */
export interface RequireFenceOptions<Request = HttpRequest> {
  /** What the request writes to, as `(request) => 'order:' + request.params.id`. Must give a text that is not empty. */
  resource: (request: Request, view: HttpRequest) => string
  /**
   * Accepts the fence for the resource or throws StaleFenceError, as `(resource, fence, options) => guard.check(db, resource,
   * fence, options)`. Where the handler writes in a transaction of its own, leave it out and let the handler check there, with
   * `fenceOf(request)`: a check before the transaction guards nothing in it.
   */
  check?: (resource: string, fence: bigint, options: { readonly lock?: string }, request: Request) => unknown
  /** Whether a request without a fence goes through, with `fenceOf(request)` undefined. Default false: 428. */
  optional?: boolean
}

/** What a request showed. */
export interface RequestFence {
  readonly resource: string
  readonly fence: bigint
  /** To be handed to a guard along with the fence: the lock's name, where the request told it. */
  readonly options: { readonly lock?: string }
}

/** The answer to a request that must not be carried out. */
export interface FenceRefusal {
  /** 400: a header that is no fence. 412: the fence is stale, or of another lock. 428: no fence. 503: the check could not be made. */
  readonly status: 400 | 412 | 428 | 503
  readonly headers: readonly HeaderField[]
  /** A problem document (RFC 9457) in JSON. */
  readonly body: string
}

/** What shall become of a request. `fence` is null where it may come without. */
export type FenceVerdict =
  | { readonly allowed: true; readonly fence: RequestFence | null }
  | ({ readonly allowed: false } & FenceRefusal)

/** As long as a store mostly takes to be back. */
const RETRY_AFTER_OUTAGE_S = '1'

/**
 * The core of the shells, for servers that have none: reads a request's fence, and has it checked. Sends nothing itself. The function made
 * rejects with whatever `resource` and `check` throw but for stale fences and failing stores, which are answers.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function fenceCheck<Request = HttpRequest>(
  options: RequireFenceOptions<Request>,
): (request: Request, view: HttpRequest) => Promise<FenceVerdict> {
  checkOptions(options, ['resource', 'check', 'optional'], 'requireFence')
  const { resource, check, optional = false } = Object(options) as Partial<RequireFenceOptions<Request>>
  checkFunction(resource, 'resource', "(request) => 'order:' + request.params.id")
  if (check !== undefined) {
    checkFunction(check, 'check', '(resource, fence, options) => guard.check(db, resource, fence, options)')
  }
  checkBoolean(optional, 'optional')
  const named = resource as RequireFenceOptions<Request>['resource']
  return async (request, view) => {
    const read = readFields(view)
    if (read.kind === 'missing' && optional) return { allowed: true, fence: null }
    if (read.kind !== 'fence') return { allowed: false, ...unreadable(read) }
    const name = resourceOf(named(request, view))
    const lock = read.lock === null ? {} : { lock: read.lock }
    try {
      await check?.(name, read.fence, lock, request)
    } catch (error) {
      const refusal = fenceProblem(error)
      if (refusal === null) throw error
      return { allowed: false, ...refusal }
    }
    return { allowed: true, fence: { resource: name, fence: read.fence, options: lock } }
  }
}

/**
 * The answer for what a guard threw, for the error handler of a framework: 412 for a fence that is stale or of another lock, 503
 * where its table is missing or a store failed. `null` for every other error.
 */
export function fenceProblem(error: unknown): FenceRefusal | null {
  if (isHoldfastError(error, 'STALE_FENCE')) {
    return problem(
      412,
      'stale-fence',
      'The fencing token is stale',
      'A later holder of the lock has written since. Nothing was carried out; take the lock anew.',
    )
  }
  // Only a guard names that option: the request showed the fence of a lock that does not guard this resource.
  if (isHoldfastError(error, 'INVALID_ARGUMENT') && error.details['option'] === 'lock') {
    return problem(
      412,
      'foreign-fence',
      'The fencing token is of another lock',
      'The resource is guarded by a lock of another name. Nothing was carried out.',
    )
  }
  if (isHoldfastError(error, 'STORE_UNAVAILABLE') || isHoldfastError(error, 'STORE_REFUSED')) {
    return problem(
      503,
      'fence-unchecked',
      'The fencing token cannot be checked at present',
      'The request was not carried out.',
      [['Retry-After', RETRY_AFTER_OUTAGE_S]],
    )
  }
  return null
}

function unreadable(read: { kind: 'missing' } | { kind: 'malformed'; field: string }): FenceRefusal {
  if (read.kind === 'missing') {
    return problem(
      428,
      'fence-missing',
      'A fencing token is required',
      `Give the fence of the lock that you hold in the header ${FENCE_FIELD}.`,
    )
  }
  const remedy =
    read.field === LOCK_FIELD ? 'the percent-encoded name of the lock' : 'the digits of one fence'
  return problem(
    400,
    'fence-malformed',
    `${read.field} cannot be read`,
    `The header ${read.field} holds ${remedy}.`,
  )
}

function problem(
  status: FenceRefusal['status'],
  type: string,
  title: string,
  detail: string,
  headers: readonly HeaderField[] = [],
): FenceRefusal {
  return {
    status,
    headers: [...headers, ['Content-Type', PROBLEM_JSON]],
    body: JSON.stringify({ type: `urn:holdfast:problem:${type}`, title, status, detail }),
  }
}

function resourceOf(resource: unknown): string {
  if (typeof resource === 'string' && resource !== '') return resource
  throw new InvalidArgumentError('resource', resource, {
    problem: 'is what resource(request) gave, which names nothing',
    remedy: 'Give a text that is not empty for every request.',
  })
}
