import { bounds } from '../defaults.ts'
import type { PolicyVerdict, Verdict } from '../store/limit/contract.ts'
import { capacityOf, type Policy } from '../store/limit/policy.ts'
import type { Counted } from './counted.ts'
import type { Decision, DecisionSource, PolicyDecision, Slot } from './decision.ts'
import { windowOf } from './policies.ts'
import type { Policies } from './policy-set.ts'

/** A decision's public part. */
export type DecisionParts = Omit<Decision, 'slot' | 'wouldDeny'>

/** A decision, and what it counted, which its reader does not see. */
export class MadeDecision implements Decision {
  readonly allowed: boolean
  readonly wouldDeny: boolean
  readonly never: boolean
  readonly remaining: number
  readonly limit: number
  readonly retryAfter: number | null
  readonly resetAfter: number
  readonly delay: number
  readonly policy: string
  readonly policies: readonly PolicyDecision[]
  readonly source: DecisionSource
  readonly cost: number
  declare readonly slot?: Slot
  readonly #counted: Counted | null
  readonly #isBeside: boolean
  #over = false

  /**
   * @param shadow whether a denial is told only
   * @param isBeside whether `counted` is what was counted beside the slot, and not the slot itself
   */
  constructor(
    parts: DecisionParts,
    counted: Counted | null,
    shadow: boolean,
    slot: Slot | null = null,
    isBeside = false,
  ) {
    this.allowed = shadow || parts.allowed
    this.wouldDeny = shadow && !parts.allowed
    this.never = parts.never
    this.remaining = parts.remaining
    this.limit = parts.limit
    this.retryAfter = parts.retryAfter
    this.resetAfter = parts.resetAfter
    this.delay = parts.delay
    this.policy = parts.policy
    this.policies = parts.policies
    this.source = parts.source
    this.cost = parts.cost
    if (slot !== null) this.slot = slot
    this.#counted = counted
    this.#isBeside = isBeside
  }

  /** What a decision of ours counted; `null` when it counted nothing, `undefined` when it is no decision of ours. */
  static countedOf(decision: unknown): Counted | null | undefined {
    const ours = typeof decision === 'object' && decision !== null && #counted in decision
    return ours ? decision.#counted : undefined
  }

  /**
   * Gives back what was counted, once: a second call finds nothing to do. One that failed may be repeated.
   *
   * @returns whether something was given back
   */
  async giveBack(): Promise<boolean> {
    if (this.#counted === null || this.#over) return false
    this.#over = true
    try {
      if (this.slot === undefined) return await this.#counted.change(0)
      if (!this.#isBeside) return await this.slot.release()
      const given = await Promise.all([this.slot.release(), this.#counted.change(0)])
      return given.includes(true)
    } catch (error) {
      this.#over = false
      throw error
    }
  }
}

/** What a verdict means for the caller. */
export function partsOf(
  policies: Policies,
  verdict: Verdict,
  cost: number,
  source: DecisionSource,
): DecisionParts {
  const each = policies.map((policy, index) =>
    decisionOf(policy, verdict.policies[index] as PolicyVerdict),
  ) as [PolicyDecision, ...PolicyDecision[]]
  const { allowed, blockedFor } = verdict
  const blocked = blockedFor > 0
  const deciding = allowed || blocked ? tightest(each) : strictest(each)
  let [remaining, resetAfter, delay] = [Infinity, blockedFor, 0]
  for (const one of verdict.policies) {
    remaining = Math.min(remaining, one.remaining)
    resetAfter = Math.max(resetAfter, one.resetAfter)
    delay = Math.max(delay, one.delay)
  }
  const never = !allowed && !blocked && deciding.never
  return {
    allowed,
    never,
    remaining: blocked ? 0 : remaining,
    limit: deciding.limit,
    retryAfter: never ? null : blocked ? blockedFor : allowed ? 0 : deciding.retryAfter,
    resetAfter,
    delay: allowed ? delay : 0,
    policy: blocked ? 'block' : deciding.name,
    policies: each,
    source,
    cost,
  }
}

function decisionOf(policy: Policy, verdict: PolicyVerdict): PolicyDecision {
  const { allowed, never, remaining, retryAfter, resetAfter } = verdict
  return {
    name: policy.name,
    kind: policy.kind,
    allowed,
    never,
    limit: capacityOf(policy),
    window: windowOf(policy),
    remaining,
    retryAfter: never ? null : retryAfter,
    resetAfter,
  }
}

/** What is said when nothing is known, and all is let through or nothing. */
export function unknownParts(policies: Policies, cost: number, allowed: boolean): DecisionParts {
  const limit = Math.min(...policies.map(capacityOf))
  const never = !allowed && cost > limit
  return {
    allowed,
    never,
    remaining: allowed ? limit : 0,
    limit,
    retryAfter: allowed ? 0 : never ? null : bounds.unknownRetryAfter,
    resetAfter: allowed ? 0 : bounds.unknownRetryAfter,
    delay: 0,
    policy: 'unavailable',
    policies: [],
    source: 'unavailable',
    cost,
  }
}

/** The policy with the least left, relative to its limit. */
function tightest(each: readonly [PolicyDecision, ...PolicyDecision[]]): PolicyDecision {
  let least = each[0]
  for (const one of each) if (one.remaining * least.limit < least.remaining * one.limit) least = one
  return least
}

/** The violated policy that refuses for longest; one that refuses for ever comes first. */
function strictest(each: readonly [PolicyDecision, ...PolicyDecision[]]): PolicyDecision {
  let longest: PolicyDecision | null = null
  for (const one of each) {
    if (one.allowed) continue
    if (one.never) return one
    if (longest === null || (one.retryAfter ?? 0) > (longest.retryAfter ?? 0)) longest = one
  }
  return longest ?? each[0]
}
