import type { Decision } from '../limit/decision.ts'

/** Decisions of limiters, kept on the framework's own object of a request, where every copy of this library finds them. */
const DECISIONS = Symbol.for('holdfast.http.decisions')
/** Set when a limiter refused the request. */
const REFUSED = Symbol.for('holdfast.http.refused')

interface Holder {
  [DECISIONS]?: Map<string, Decision>
  [REFUSED]?: true
}

export function keepDecision(request: object, limiter: string, decision: Decision): void {
  const holder = request as Holder
  if (holder[DECISIONS] === undefined) Object.defineProperty(holder, DECISIONS, { value: new Map() })
  holder[DECISIONS]?.set(limiter, decision)
}

/**
 * What was decided about a request, for its handler: as how much is left, or a leaky bucket's `delay`.
 *
 * @param request what the middleware was called with: Express's `req`, Fastify's `request`, Koa's `ctx`, Hono's `c`
 * @param limiter the limiter's name; default: the one that decided last
 * @returns `undefined` when no limiter has decided about it
 */
export function decisionOf(request: object, limiter?: string): Decision | undefined {
  const decisions = (request as Holder)[DECISIONS]
  return limiter === undefined ? [...(decisions?.values() ?? [])].at(-1) : decisions?.get(limiter)
}

export function keepRefusal(request: object): void {
  Object.defineProperty(request, REFUSED, { value: true, configurable: true })
}

/** Whether a limiter refused the request, this one or another. */
export function isRefused(request: object): boolean {
  return (request as Holder)[REFUSED] === true
}
