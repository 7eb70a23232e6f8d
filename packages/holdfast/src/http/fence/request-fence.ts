import type { RequestFence } from './fence-check.ts'

/** Fences, kept on the framework's own object of a request, where every copy of this library finds them. */
const FENCE = Symbol.for('holdfast.http.fence')

export function keepFence(request: object, fence: RequestFence | null): void {
  if (fence !== null) Object.defineProperty(request, FENCE, { value: fence, configurable: true })
}

/**
 * What a request showed to `requireFence`, for its handler: `guard.check(tx, shown.resource, shown.fence, shown.options)` inside
 * the transaction that writes.
 *
 * @param request what the middleware was called with: Express's `req`, Fastify's `request`, Koa's `ctx`, Hono's `c`
 * @returns `undefined` when it showed none
 */
export function fenceOf(request: object): RequestFence | undefined {
  return (request as { readonly [FENCE]?: RequestFence })[FENCE]
}
