import type { KoaContextLike, KoaContextSeen, KoaMiddleware } from '../koa.ts'
import { nodeRequest } from '../request.ts'
import { setFields } from '../response-fields.ts'
import { fenceCheck, type RequireFenceOptions } from './fence-check.ts'
import { keepFence } from './request-fence.ts'

/**
 * A middleware that lets a request through only with a fence that its resource accepts, shown in the header `Fencing-Token`. None of the
 * next runs, and a problem document is the answer: 428 without a fence, 400 with one that cannot be read, 412 with a stale one,
 * 503 when the check's database or table fails. Every other error is thrown, for Koa's error handling.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function requireFence<Context extends KoaContextLike = KoaContextSeen>(
  options: RequireFenceOptions<Context>,
): KoaMiddleware {
  const check = fenceCheck(options)
  return async (given, next) => {
    const context = given as Context
    const verdict = await check(context, { ...nodeRequest(context.req), url: context.originalUrl })
    if (verdict.allowed) {
      keepFence(context, verdict.fence)
      return next() as Promise<void>
    }
    context.status = verdict.status
    context.body = verdict.body
    // After the body, which sets a type of its own.
    const set = (name: string, value: string): unknown => context.set(name, value)
    setFields({ get: (name) => context.response.get(name), set }, verdict.headers)
  }
}
