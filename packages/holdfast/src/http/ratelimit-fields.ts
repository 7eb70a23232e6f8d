import type { Decision, PolicyDecision } from '../limit/decision.ts'
import { integerItem, listMember } from './structured-fields.ts'

/**
 * What a decision says in headers, by draft-ietf-httpapi-ratelimit-headers-10 (September 2025, sections 3 and 4), and in
 * the older `X-RateLimit-*`, which no standard describes. Where the draft leaves a choice:
 *
 * - `w` is a whole number of seconds above zero, so a window is rounded up: a client that keeps to it stays within the limit.
 *   A concurrency limit has no window, and its unit is `concurrent-requests`.
 * - `t` is the time until additional quota is there: for a policy that refused, the time until this cost passes; for one that
 *   admitted, the time until nothing counts any more. In a refusal it is left out for policies that did not refuse: their
 *   quota is there already, and `Retry-After` should not be earlier than any `t` (section 6).
 */

export type HeaderField = readonly [name: string, value: string]

/** How the fields are to be written. */
export interface FieldOptions {
  readonly quotaUnit: string | null
  /** Of this request; `null` when it is not told. */
  readonly partitionKey: Uint8Array | null
  /** What `X-RateLimit-Reset` counts; `null` when the older headers are not sent. */
  readonly legacy: 'seconds' | 'epoch' | null
  /** Milliseconds since 1970, for `epoch`. */
  readonly now: number
}

/** The headers that tell of a decision. Without policies (the store is down) nothing is known, and nothing is told. */
export function rateLimitFields(decision: Decision, options: FieldOptions): HeaderField[] {
  const { policies } = decision
  if (policies.length === 0) return []
  const fields: HeaderField[] = [
    ['RateLimit-Policy', policies.map((policy) => policyItem(policy, options)).join(', ')],
    ['RateLimit', policies.map((policy) => limitItem(policy, decision, options)).join(', ')],
  ]
  if (options.legacy !== null) fields.push(...legacyFields(decision, options.legacy, options.now))
  return fields
}

function policyItem(policy: PolicyDecision, { quotaUnit, partitionKey }: FieldOptions): string {
  return listMember(policy.name, {
    q: policy.limit,
    qu: policy.kind === 'concurrency' ? 'concurrent-requests' : quotaUnit,
    w: policy.window === null ? null : Math.max(1, seconds(policy.window)),
    pk: partitionKey,
  })
}

function limitItem(policy: PolicyDecision, decision: Decision, { partitionKey }: FieldOptions): string {
  return listMember(policy.name, {
    r: isBlocked(decision) ? 0 : policy.remaining,
    t: resetOf(policy, decision),
    pk: partitionKey,
  })
}

/** The value of `t`, in seconds; `null` when there is none to tell. */
function resetOf(policy: PolicyDecision, decision: Decision): number | null {
  if (isBlocked(decision)) return retryAfterSeconds(decision)
  if (decision.allowed) return seconds(policy.resetAfter)
  return policy.allowed || policy.retryAfter === null ? null : seconds(policy.retryAfter)
}

/**
 * `Retry-After` of a refusal: whole seconds, at least one, rounded up, and never earlier than a `t` of the same answer.
 *
 * @returns `null` when waiting does not help
 */
export function retryAfterSeconds(decision: Decision): number | null {
  if (decision.never || decision.retryAfter === null) return null
  const waits = decision.policies.map((policy) => (policy.allowed ? 0 : (policy.retryAfter ?? 0)))
  return Math.max(1, seconds(Math.max(decision.retryAfter, ...waits)))
}

/** The policies whose quota is exceeded; `block` while the subject is blocked. */
export function violatedPolicies(decision: Decision): string[] {
  if (isBlocked(decision)) return [decision.policy]
  return decision.policies.filter((policy) => !policy.allowed).map(({ name }) => name)
}

/** A block refuses whatever the policies say, under a name that is none of theirs. */
function isBlocked({ allowed, policy, policies }: Decision): boolean {
  return !allowed && policy === 'block' && policies.every(({ name }) => name !== 'block')
}

function legacyFields(decision: Decision, legacy: 'seconds' | 'epoch', now: number): HeaderField[] {
  const wait = decision.allowed ? seconds(decision.resetAfter) : (retryAfterSeconds(decision) ?? 0)
  return [
    ['X-RateLimit-Limit', integerItem(decision.limit)],
    ['X-RateLimit-Remaining', integerItem(isBlocked(decision) ? 0 : decision.remaining)],
    ['X-RateLimit-Reset', integerItem(legacy === 'epoch' ? seconds(now + wait * 1_000) : wait)],
  ]
}

function seconds(ms: number): number {
  return Math.ceil(Math.max(0, ms) / 1_000)
}
