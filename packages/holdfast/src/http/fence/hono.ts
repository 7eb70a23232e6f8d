import type { HonoContextLike, HonoContextSeen, HonoMiddleware } from '../hono.ts'
import { honoRequest } from '../hono-request.ts'
import { fenceCheck, type RequireFenceOptions } from './fence-check.ts'
import { keepFence } from './request-fence.ts'

/**
 * A middleware that lets a request through only with a fence that its resource accepts, shown in the header `Fencing-Token`. No handler
 * runs, and a problem document is the answer: 428 without a fence, 400 with one that cannot be read, 412 with a stale one, 503
 * when the check's database or table fails. Every other error is thrown, for Hono's `onError`.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function requireFence<Context extends HonoContextLike = HonoContextSeen>(
  options: RequireFenceOptions<Context>,
): HonoMiddleware {
  const check = fenceCheck(options)
  return async (given, next) => {
    const context = given as Context
    const verdict = await check(context, honoRequest(context))
    if (verdict.allowed) {
      keepFence(context, verdict.fence)
      await next()
      return undefined
    }
    const headers = verdict.headers.map(([name, value]): [string, string] => [name, value])
    return new Response(verdict.body, { status: verdict.status, headers })
  }
}
