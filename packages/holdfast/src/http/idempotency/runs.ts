import type { IdempotentRun } from '../../idempotency/execution.ts'

/** Runs of handlers, kept on the framework's own object of a request, where every copy of this library finds them. */
const RUN = Symbol.for('holdfast.http.run')

export function keepRun(request: object, run: IdempotentRun): void {
  Object.defineProperty(request, RUN, { value: run, configurable: true })
}

/** Idempotencies that a request is inside of, on the same object. */
const INSIDE = Symbol.for('holdfast.http.inside')

interface Nested {
  [INSIDE]?: Set<string>
}

/** Marks a request as being inside of an idempotency. @returns false when it was already */
export function enter(request: object, idempotency: string): boolean {
  const nested = request as Nested
  if (nested[INSIDE] === undefined) Object.defineProperty(nested, INSIDE, { value: new Set() })
  const inside = nested[INSIDE] as Set<string>
  if (inside.has(idempotency)) return false
  inside.add(idempotency)
  return true
}

/**
 * The run that a handler is in, for its `signal`, `attempt` and `owner`.
 *
 * @param request what the middleware was called with: Express's `req`, Fastify's `request`, Koa's `ctx`, Hono's `c`
 * @returns `undefined` when the request came without a key, and none is required
 */
export function runOf(request: object): IdempotentRun | undefined {
  return (request as { [RUN]?: IdempotentRun })[RUN]
}
