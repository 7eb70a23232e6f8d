import { keepDecision } from './decisions.ts'
import type { RateLimitOptions, RequestLimiter } from './options.ts'
import { requestCheck } from './rate-limit.ts'
import { nodeRequest, type NodeHeadersSeen, type NodeRequestLike } from './request.ts'
import { finishWithResponse } from './response-end.ts'
import { addFields, setFields } from './response-fields.ts'

export { clientAddress, type ClientAddressKey, type ClientAddressOptions } from './client-address.ts'
export { decisionOf } from './decisions.ts'
export { requireFence } from './fence/fastify.ts'
export {
  fenceProblem,
  type FenceRefusal,
  type RequestFence,
  type RequireFenceOptions,
} from './fence/fence-check.ts'
export { fenceHeaders } from './fence/fence-field.ts'
export { fenceOf } from './fence/request-fence.ts'
export { idempotent } from './idempotency/fastify.ts'
export type { HandlerAnswer, IdempotentOptions, RequestIdempotency } from './idempotency/options.ts'
export { runOf } from './idempotency/runs.ts'
export type { RateLimitOptions, RequestLimiter } from './options.ts'
export type { HeadersLike, HttpRequest, NodeRequestLike } from './request.ts'

/** What is used of a request of Fastify. */
export interface FastifyRequestLike {
  readonly raw: NodeRequestLike
}

/**
 * What functions among the options see of a request of Fastify. Annotate their parameter as `FastifyRequest` for all the rest:
 * `(request: FastifyRequest) => request.user.id`.
 */
export interface FastifyRequestSeen extends FastifyRequestLike {
  readonly id: string
  readonly ip: string
  readonly method: string
  readonly url: string
  readonly headers: NodeHeadersSeen
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

/** What is used of a reply of Fastify. */
export interface FastifyReplyLike {
  readonly sent: boolean
  readonly raw: object
  getHeader(name: string): unknown
  header(name: string, value: string): unknown
  code(status: number): unknown
  send(body: string): unknown
}

/** An async hook of Fastify, as for `onRequest` or `preHandler`. */
export type FastifyHook<Request = FastifyRequestLike> = (
  request: Request,
  reply: FastifyReplyLike,
) => Promise<unknown>

/**
 * A hook that asks a limiter about every request: `app.addHook('onRequest', rateLimit(…))` for all routes of a scope, or
 * `{ onRequest: rateLimit(…) }` for one; `preHandler` where `key` needs what earlier hooks found out. Allowed: the
 * `RateLimit` headers are set and the request goes on. Denied: 429 with a problem document, and no handler runs. The store of
 * the limits is down: 503 with `Retry-After`, unless the limiter's `onStoreError` decides. Every other error goes to
 * Fastify's error handler.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function rateLimit<Request extends FastifyRequestLike = FastifyRequestSeen>(
  limiter: RequestLimiter,
  options?: RateLimitOptions<Request>,
): FastifyHook {
  const check = requestCheck(limiter, options)
  return async (given, reply) => {
    // The hook takes requests of every route, whose types differ; its own functions know theirs.
    const request = given as Request
    const outcome = await check(request, nodeRequest(request.raw))
    if (outcome.decision !== null) keepDecision(request, outcome.limiter, outcome.decision)
    if (outcome.allowed) finishWithResponse(outcome, reply.raw)
    if (reply.sent) return reply
    const target = {
      get: (name: string) => reply.getHeader(name),
      set: (name: string, value: string) => reply.header(name, value),
    }
    if (outcome.allowed) {
      addFields(target, outcome.headers)
      return undefined
    }
    reply.code(outcome.status)
    setFields(target, outcome.headers)
    reply.send(outcome.body)
    return reply
  }
}
