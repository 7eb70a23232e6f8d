import { after, millisecondsUntil, type Clock, type Instant } from '../clock.ts'
import { bounds } from '../defaults.ts'
import type { DecisionParts } from './made-decision.ts'
import type { Policies } from './policy-set.ts'
import { RecentMap } from './recent-map.ts'

interface Denial {
  readonly cost: number
  readonly policies: Policies
  readonly parts: DecisionParts
  /** When the store is asked again. */
  readonly until: Instant
  /** When the answer came, in monotonic milliseconds: the times in it count from here. */
  readonly heard: number
}

/**
 * Denials that hold for a while whatever happens: the same cost, or more, cannot pass before its time. Answering them from
 * memory costs no round trip. What gives room earlier (a refund, a reset) is seen at once when this process did it, and
 * when another did after `rememberFor` at the latest, by the monotonic or the wall clock: a machine that sleeps stops the former.
 */
export class RememberedDenials {
  readonly #clock: Clock
  readonly #denials = new RecentMap<Denial>(bounds.rememberedSubjects)
  #epoch = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Changes whenever something was forgotten: an answer that was asked for before is not to be remembered. */
  get epoch(): number {
    return this.#epoch
  }

  get size(): number {
    return this.#denials.size
  }

  /** The denial that holds for this cost under these limits, with its times as of now; `null` when the store must be asked. */
  find(subject: string, cost: number, policies: Policies): DecisionParts | null {
    if (this.#denials.size === 0) return null
    const denial = this.#denials.get(subject)
    if (denial === undefined) return null
    if (millisecondsUntil(denial.until, this.#clock) <= 0) {
      this.#denials.delete(subject)
      return null
    }
    if (cost < denial.cost || denial.policies !== policies) return null
    return asOf(denial.parts, cost, this.#clock.monotonic() - denial.heard)
  }

  /**
   * @param parts a denial of the store
   * @param sent when it was asked for: the store decided after that
   * @param rememberFor milliseconds; at most so long
   */
  remember(
    subject: string,
    policies: Policies,
    parts: DecisionParts,
    sent: Instant,
    rememberFor: number,
  ): void {
    const holds = firmFor(parts)
    if (holds <= 0) return
    const until = after(sent, Math.min(holds, rememberFor))
    if (millisecondsUntil(until, this.#clock) <= 0) return
    this.#denials.set(subject, {
      cost: parts.policy === 'block' ? 1 : parts.cost,
      policies,
      parts,
      until,
      heard: this.#clock.monotonic(),
    })
  }

  /** Something was given back, reset or unblocked here. */
  forget(subject: string): void {
    this.#epoch += 1
    this.#denials.delete(subject)
  }
}

/** For how long a denial holds for certain. Slots may be given back at any time, so they refuse for no time. */
function firmFor(parts: DecisionParts): number {
  if (parts.policy === 'block') return parts.retryAfter ?? 0
  if (parts.never) return Infinity
  let longest = 0
  for (const { kind, retryAfter } of parts.policies)
    if (kind !== 'concurrency') longest = Math.max(longest, retryAfter ?? 0)
  return longest
}

/** The same denial `passed` milliseconds later. A greater cost may have to wait longer than is said here. */
function asOf(parts: DecisionParts, cost: number, passed: number): DecisionParts {
  const left = (ms: number): number => Math.max(1, Math.ceil(ms - passed))
  const policies = parts.policies.map((one) => ({
    ...one,
    retryAfter: one.retryAfter === null || one.allowed ? one.retryAfter : left(one.retryAfter),
    resetAfter: one.resetAfter === 0 ? 0 : left(one.resetAfter),
  }))
  const retryAfter = parts.retryAfter === null ? null : left(parts.retryAfter)
  return { ...parts, cost, retryAfter, resetAfter: left(parts.resetAfter), policies, source: 'remembered' }
}
