import { keepDecision } from './decisions.ts'
import type { RateLimitOptions, RequestLimiter } from './options.ts'
import { requestCheck } from './rate-limit.ts'
import { nodeRequest, type NodeHeadersSeen, type NodeRequestLike } from './request.ts'
import { finishWithResponse } from './response-end.ts'
import { addFields, setFields } from './response-fields.ts'

export { clientAddress, type ClientAddressKey, type ClientAddressOptions } from './client-address.ts'
export { decisionOf } from './decisions.ts'
export { requireFence } from './fence/koa.ts'
export {
  fenceProblem,
  type FenceRefusal,
  type RequestFence,
  type RequireFenceOptions,
} from './fence/fence-check.ts'
export { fenceHeaders } from './fence/fence-field.ts'
export { fenceOf } from './fence/request-fence.ts'
export { idempotent } from './idempotency/koa.ts'
export type { HandlerAnswer, IdempotentOptions, RequestIdempotency } from './idempotency/options.ts'
export { runOf } from './idempotency/runs.ts'
export type { RateLimitOptions, RequestLimiter } from './options.ts'
export type { HeadersLike, HttpRequest, NodeRequestLike } from './request.ts'

/** What is used of a context of Koa. */
export interface KoaContextLike {
  readonly req: NodeRequestLike
  readonly res: object
  readonly originalUrl: string
  readonly response: { get(name: string): unknown }
  status: number
  body: unknown
  set(name: string, value: string): unknown
}

/**
 * What functions among the options see of a context of Koa. Annotate their parameter as `Koa.Context` for all the rest:
 * `(ctx: Koa.Context) => ctx.state.user.id`.
 */
export interface KoaContextSeen extends KoaContextLike {
  readonly method: string
  readonly url: string
  readonly path: string
  readonly ip: string
  readonly headers: NodeHeadersSeen
  readonly query: NodeRequestLike['headers']
  readonly state: Readonly<Record<string, unknown>>
  get(name: string): string
}

/** A middleware of Koa. */
export type KoaMiddleware<Context = KoaContextLike> = (
  context: Context,
  next: () => Promise<unknown>,
) => Promise<void>

/**
 * A middleware that asks a limiter about every request. Allowed: the `RateLimit` headers are set and the next middleware
 * runs. Denied: 429 with a problem document, and none runs. The store of the limits is down: 503 with `Retry-After`, unless
 * the limiter's `onStoreError` decides. Every other error is thrown, for Koa's error handling.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function rateLimit<Context extends KoaContextLike = KoaContextSeen>(
  limiter: RequestLimiter,
  options?: RateLimitOptions<Context>,
): KoaMiddleware {
  const check = requestCheck(limiter, options)
  return async (given, next) => {
    // The middleware takes contexts of every route, whose types differ; its own functions know theirs.
    const context = given as Context
    const outcome = await check(context, { ...nodeRequest(context.req), url: context.originalUrl })
    if (outcome.decision !== null) keepDecision(context, outcome.limiter, outcome.decision)
    const target = {
      get: (name: string) => context.response.get(name),
      set: (name: string, value: string) => context.set(name, value),
    }
    if (outcome.allowed) {
      addFields(target, outcome.headers)
      try {
        await next()
      } finally {
        // Not before the handlers are done: they may work on for a client that is gone.
        finishWithResponse(outcome, context.res)
      }
      return
    }
    context.status = outcome.status
    context.body = outcome.body
    // After the body, which sets a type of its own.
    setFields(target, outcome.headers)
  }
}
