import type { Algorithm, Change, Decided, DecideRequest, Judgement } from './algorithm.ts'
import { concurrencyAlgorithm } from './algorithms/concurrency.ts'
import { fixedWindowAlgorithm } from './algorithms/fixed-window.ts'
import { leakyBucketAlgorithm } from './algorithms/leaky-bucket.ts'
import { slidingCounterAlgorithm } from './algorithms/sliding-counter.ts'
import { slidingWindowAlgorithm } from './algorithms/sliding-window.ts'
import { tokenBucketAlgorithm } from './algorithms/token-bucket.ts'
import type { PolicyVerdict } from './contract.ts'
import { capacityOf, type Policy, type PolicyKind } from './policy.ts'

/** A usage of some kind; only the algorithm of that kind looks into it. */
export type AnyUsage = unknown

const ALGORITHMS = {
  'fixed-window': fixedWindowAlgorithm,
  'sliding-window': slidingWindowAlgorithm,
  'sliding-counter': slidingCounterAlgorithm,
  'token-bucket': tokenBucketAlgorithm,
  'leaky-bucket': leakyBucketAlgorithm,
  concurrency: concurrencyAlgorithm,
} as const satisfies Record<PolicyKind, unknown>

/** One policy's usage as it stands at an instant: what is asked of it is asked here. */
export class Standing {
  readonly policy: Policy
  /** Moved on to now. */
  readonly usage: AnyUsage
  readonly #algorithm: Algorithm<Policy, AnyUsage>
  readonly #now: number
  /** Whether `usage` has to be kept although nothing is counted. */
  readonly mustKeep: boolean

  constructor(policy: Policy, usage: AnyUsage, now: number) {
    this.policy = policy
    this.#now = now
    // The usage is of the policy's kind, and so is the algorithm.
    this.#algorithm = ALGORITHMS[policy.kind]
    this.mustKeep = usage !== null && this.#algorithm.isAhead(usage, policy, now)
    this.usage = this.#algorithm.at(usage, policy, now)
  }

  judge(cost: number): Judgement & { readonly never: boolean } {
    if (cost > capacityOf(this.policy)) return { allowed: false, never: true, retryAfter: 0, delay: 0 }
    return { never: false, ...this.#algorithm.judge(this.usage, this.policy, this.#now, cost) }
  }

  count(cost: number, take: string): Standing {
    return this.#with(this.#algorithm.count(this.usage, this.policy, this.#now, cost, take))
  }

  countDenied(cost: number): Standing {
    return this.#with(this.#algorithm.countDenied(this.usage, this.policy, this.#now, cost))
  }

  /** `null` when the take is over. */
  adjust(change: Change): Standing | null {
    const usage = this.#algorithm.adjust(this.usage, this.policy, this.#now, change)
    return usage === null ? null : this.#with(usage)
  }

  /** `null` when there are no slots of that take, or the policy has none at all. */
  renew(take: string): Standing | null {
    const usage = this.#algorithm.renew?.(this.usage, this.policy, this.#now, take) ?? null
    return usage === null ? null : this.#with(usage)
  }

  /** When nothing of it counts any more; a time that is past when nothing does now. */
  get expires(): number {
    return this.#algorithm.expires(this.usage, this.policy)
  }

  verdict({ allowed, never, delay, retryAfter }: Judgement & { readonly never: boolean }): PolicyVerdict {
    const { remaining, resetAfter } = this.#algorithm.report(this.usage, this.policy, this.#now)
    return { allowed, never, remaining, retryAfter, resetAfter, delay }
  }

  #with(usage: AnyUsage): Standing {
    return new Standing(this.policy, usage, this.#now)
  }
}

/**
 * Decides one take under one policy. For several, and for all else that can be asked of a subject, see `subject.ts`.
 *
 * @param usage what the decision before gave; `null` at first
 * @param now whole milliseconds
 */
export function decide(
  policy: Policy,
  usage: AnyUsage,
  now: number,
  { cost, id, countDenied }: DecideRequest,
): Decided<AnyUsage> {
  const before = new Standing(policy, usage, now)
  const judgement = before.judge(cost)
  if (judgement.allowed) {
    const after = before.count(cost, id)
    return { verdict: after.verdict(judgement), usage: after.usage }
  }
  if (!countDenied || judgement.never) {
    return { verdict: before.verdict(judgement), usage: before.mustKeep ? before.usage : usage }
  }
  const after = before.countDenied(cost)
  return { verdict: after.verdict(after.judge(cost)), usage: after.usage }
}
