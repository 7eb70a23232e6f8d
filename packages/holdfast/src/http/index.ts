import { requestCheck, type RateLimitOutcome } from './rate-limit.ts'
import type { RateLimitOptions, RequestLimiter } from './options.ts'
import type { HttpRequest } from './request.ts'

export { clientAddress, type ClientAddressKey, type ClientAddressOptions } from './client-address.ts'
export { idempotent, type FetchHandler, type FetchRequest, type RequestWithBody } from './idempotency/core.ts'
export type { HandlerAnswer, IdempotentOptions, RequestIdempotency } from './idempotency/options.ts'
export {
  fenceCheck,
  fenceProblem,
  type FenceRefusal,
  type FenceVerdict,
  type RequestFence,
  type RequireFenceOptions,
} from './fence/fence-check.ts'
export { fenceHeaders } from './fence/fence-field.ts'
export type { RateLimitOptions, RequestLimiter } from './options.ts'
export type { AllowedRequest, RateLimitOutcome, RefusedRequest } from './rate-limit.ts'
export type { HeaderField } from './ratelimit-fields.ts'
export { nodeRequest, type HeadersLike, type HttpRequest, type NodeRequestLike } from './request.ts'

/**
 * The core of the shells, for servers that have none: asks a limiter about a request, in one call of `take`, and tells what
 * shall become of it: the headers to add to the response, or the whole response of a refusal. It sends nothing itself.
 * The function made rejects with what `key`, `cost` and `skip` throw, with InvalidArgumentError for what they give, and
 * with what `take` rejects with, except that the store is down, which is an outcome (503).
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function rateLimit(
  limiter: RequestLimiter,
  options?: RateLimitOptions,
): (request: HttpRequest) => Promise<RateLimitOutcome> {
  const check = requestCheck(limiter, options)
  return (request) => check(request, request)
}
