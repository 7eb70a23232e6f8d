import { keepDecision } from './decisions.ts'
import { handOn } from './hand-on.ts'
import type { RateLimitOptions, RequestLimiter } from './options.ts'
import { requestCheck, type RateLimitOutcome } from './rate-limit.ts'
import { nodeRequest, type NodeHeadersSeen, type NodeRequestLike } from './request.ts'
import { finishWithResponse } from './response-end.ts'
import { addFields, setFields } from './response-fields.ts'

export { clientAddress, type ClientAddressKey, type ClientAddressOptions } from './client-address.ts'
export { decisionOf } from './decisions.ts'
export { requireFence } from './fence/express.ts'
export {
  fenceProblem,
  type FenceRefusal,
  type RequestFence,
  type RequireFenceOptions,
} from './fence/fence-check.ts'
export { fenceHeaders } from './fence/fence-field.ts'
export { fenceOf } from './fence/request-fence.ts'
export { idempotent } from './idempotency/express.ts'
export type { HandlerAnswer, IdempotentOptions, RequestIdempotency } from './idempotency/options.ts'
export { runOf } from './idempotency/runs.ts'
export type { RateLimitOptions, RequestLimiter } from './options.ts'
export type { HeadersLike, HttpRequest, NodeRequestLike } from './request.ts'

/**
 * What functions among the options see of a request of Express. Annotate their parameter as `Request` for all the rest:
 * `(request: Request) => request.user.id`; on another server as its own request, as `IncomingMessage`.
 */
export interface ExpressRequestSeen extends NodeRequestLike {
  readonly method: string
  readonly url: string
  readonly originalUrl: string
  readonly path: string
  readonly ip: string | undefined
  readonly hostname: string
  readonly headers: NodeHeadersSeen
  readonly params: Readonly<Record<string, string | string[] | undefined>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  get(name: string): string | undefined
}

/** What is used of a response of Express, node:http and node:http2. */
export interface NodeResponseLike {
  statusCode: number
  readonly headersSent: boolean
  getHeader(name: string): unknown
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

/** A middleware of Express 4 and 5, Connect, or NestJS; for plain node:http and node:http2, `next` is the handler. */
export type ExpressMiddleware<Request = NodeRequestLike> = (
  request: Request,
  response: NodeResponseLike,
  next: (error?: unknown) => void,
) => void

/**
 * A middleware that asks a limiter about every request, in one call of `take`. Allowed: the `RateLimit` headers are set and
 * the next handler runs. Denied: 429 with a problem document, and no handler runs. The store of the limits is down: 503 with
 * `Retry-After`, unless the limiter's `onStoreError` decides. Every other error (a `key` that gives nothing) goes to
 * `next(error)`; where `next` is a handler of plain node:http that takes no error, it is answered with 500.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function rateLimit<Request extends NodeRequestLike = ExpressRequestSeen>(
  limiter: RequestLimiter,
  options?: RateLimitOptions<Request>,
): ExpressMiddleware {
  const check = requestCheck(limiter, options)
  const fail = handOn()
  return (given, response, next) => {
    // The middleware takes requests of every route, whose types differ; its own functions know theirs.
    const request = given as Request
    // `next` stands outside of the promise's own errors: what a handler throws must not call it a second time.
    check(request, nodeRequest(request)).then(
      (outcome) => {
        if (answer(request, response, outcome)) next()
      },
      (error: unknown) => fail(error, request, response, next),
    )
  }
}

/** @returns whether the handler shall run */
function answer(request: object, response: NodeResponseLike, outcome: RateLimitOutcome): boolean {
  if (outcome.decision !== null) keepDecision(request, outcome.limiter, outcome.decision)
  if (outcome.allowed) finishWithResponse(outcome, response)
  // Somebody answered meanwhile, as a middleware that watches the time.
  if (response.headersSent) return false
  const target = {
    get: (name: string) => response.getHeader(name),
    set: (name: string, value: string) => response.setHeader(name, value),
  }
  if (outcome.allowed) {
    addFields(target, outcome.headers)
    return true
  }
  response.statusCode = outcome.status
  setFields(target, outcome.headers)
  response.end(outcome.body)
  return false
}
