import { checkFunction, checkOptions } from '../options.ts'
import { isRefused, keepDecision, keepRefusal } from './decisions.ts'
import { honoBindings, honoRequest } from './hono-request.ts'
import { RATE_LIMIT_OPTIONS, type RateLimitOptions, type RequestLimiter } from './options.ts'
import { requestCheck } from './rate-limit.ts'
import type { HeadersLike } from './request.ts'
import { finishWithResponse } from './response-end.ts'
import { addFields } from './response-fields.ts'

export { clientAddress, type ClientAddressKey, type ClientAddressOptions } from './client-address.ts'
export { decisionOf } from './decisions.ts'
export { requireFence } from './fence/hono.ts'
export {
  fenceProblem,
  type FenceRefusal,
  type RequestFence,
  type RequireFenceOptions,
} from './fence/fence-check.ts'
export { fenceHeaders } from './fence/fence-field.ts'
export { fenceOf } from './fence/request-fence.ts'
export { idempotent } from './idempotency/hono.ts'
export type { HandlerAnswer, IdempotentOptions, RequestIdempotency } from './idempotency/options.ts'
export { runOf } from './idempotency/runs.ts'
export type { RateLimitOptions, RequestLimiter } from './options.ts'
export type { HeadersLike, HttpRequest } from './request.ts'

/** What is used of a context of Hono. */
export interface HonoContextLike {
  readonly req: {
    readonly method: string
    readonly url: string
    readonly raw: { readonly headers: HeadersLike }
  }
  /** With `@hono/node-server`: `incoming` and `outgoing`, request and response of Node. */
  readonly env: unknown
  readonly res: { readonly headers: HeadersLike }
  header(name: string, value: string): void
}

/**
 * What functions among the options see of a context of Hono. Annotate their parameter as `Context<Env>` for all the rest:
 * `(c: Context<Env>) => c.get('user').id`.
 */
export interface HonoContextSeen extends HonoContextLike {
  readonly req: HonoContextLike['req'] & {
    readonly path: string
    header(name: string): string | undefined
    param(name: string): string | undefined
    query(name: string): string | undefined
  }
  /** What a middleware before has `set`. */
  get(name: string): unknown
}

/** A middleware of Hono. */
export type HonoMiddleware<Context = HonoContextLike> = (
  context: Context,
  next: () => Promise<void>,
) => Promise<Response | undefined>

/** What `rateLimit` of `holdfast/hono` takes beside the common options. */
export interface HonoRateLimitOptions<Context = HonoContextSeen> extends RateLimitOptions<Context> {
  /** The address of the socket's peer, where the server is not `@hono/node-server`, which tells it by itself. */
  remoteAddress?: (context: Context) => string | undefined
}

/**
 * A middleware that asks a limiter about every request. Allowed: the next handler runs, and the `RateLimit` headers are set
 * on its response. Denied: 429 with a problem document, and no handler runs. The store of the limits is down: 503 with
 * `Retry-After`, unless the limiter's `onStoreError` decides. Every other error is thrown, for Hono's `onError`.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function rateLimit<Context extends HonoContextLike = HonoContextSeen>(
  limiter: RequestLimiter,
  options: HonoRateLimitOptions<Context> = {},
): HonoMiddleware {
  // Before it is taken apart: a copy of what is no object of options would be one.
  checkOptions(options, [...RATE_LIMIT_OPTIONS, 'remoteAddress'], 'rateLimit')
  const { remoteAddress, ...rest } = options
  if (remoteAddress !== undefined)
    checkFunction(remoteAddress, 'remoteAddress', '(c) => getConnInfo(c).remote.address')
  const check = requestCheck(limiter, rest)
  return async (given, next) => {
    // The middleware takes contexts of every route, whose types differ; its own functions know theirs.
    const context = given as Context
    const outcome = await check(context, honoRequest(context, remoteAddress))
    if (outcome.decision !== null) keepDecision(context, outcome.limiter, outcome.decision)
    if (!outcome.allowed) {
      keepRefusal(context)
      return new Response(outcome.body, {
        status: outcome.status,
        headers: outcome.headers.map(([name, value]): [string, string] => [name, value]),
      })
    }
    try {
      await next()
    } finally {
      const { outgoing } = honoBindings(context)
      if (outgoing === undefined) outcome.finish()
      else finishWithResponse(outcome, outgoing)
    }
    // A limiter behind this one refused: the answer speaks of it alone.
    if (isRefused(context)) return undefined
    // Hono makes the response only now, and nothing of it is sent before the middlewares are done.
    addFields(
      {
        get: (name) => context.res.headers.get(name),
        set: (name, value) => context.header(name, value),
      },
      outcome.headers,
    )
    return undefined
  }
}
