import { instantOf, type Clock } from '../clock.ts'
import { bounds } from '../defaults.ts'
import type { Verdict } from '../store/limit/contract.ts'
import { capacityOf, spanOf, type Policy } from '../store/limit/policy.ts'
import * as subjects from '../store/limit/subject.ts'
import type { Counted, Renewal } from './counted.ts'
import type { Policies } from './policy-set.ts'
import { RecentMap } from './recent-map.ts'

/** A take to decide about locally. */
export interface LocalAsk {
  readonly subject: string
  readonly policies: Policies
  readonly instances: number
  readonly cost: number
  readonly id: string
  readonly countDenied: boolean
  readonly returnAfter: number | null
}

/**
 * What stands in for the store while it is down: the same algorithms in this process, each limit divided by the number of
 * instances. Bounded: of more than {@link bounds.localSubjects} subjects those that were not asked about for longest are forgotten.
 * It begins empty, so that at a change of the store's state both may admit: together at most limit + share.
 */
export class LocalLimits {
  readonly #clock: Clock
  readonly #name: string
  readonly #subjects = new RecentMap<subjects.Subject>(bounds.localSubjects)
  readonly #shares = new WeakMap<Policies, Map<number, Policies>>()
  readonly #start: number

  constructor(clock: Clock, name: string) {
    this.#clock = clock
    this.#name = name
    // Windows begin where they do on the store, and steps of the wall clock change nothing.
    this.#start = clock.wall() - clock.monotonic()
  }

  get size(): number {
    return this.#subjects.size
  }

  take(ask: LocalAsk): { readonly verdict: Verdict; readonly counted: LocalTake } {
    const policies = this.#shareOf(ask.policies, ask.instances)
    const now = this.#now()
    const { cost, id, countDenied, returnAfter } = ask
    const step = subjects.take(this.#find(ask.subject), { policies, cost, id, countDenied, returnAfter }, now)
    this.#keep(ask.subject, step.subject)
    const about = { limiter: this.#name, subject: ask.subject, policies, id, at: now, cost }
    return { verdict: asWhole(ask, step.result), counted: new LocalTake(this, about) }
  }

  peek(ask: LocalAsk): Verdict {
    const policies = this.#shareOf(ask.policies, ask.instances)
    return asWhole(ask, subjects.peek(this.#find(ask.subject), { policies, cost: ask.cost }, this.#now()))
  }

  forget(subject: string): void {
    this.#subjects.delete(subject)
  }

  change({ subject, policies, id: take, at, cost: taken }: LocalTakeParts, cost: number): boolean {
    const now = this.#now()
    const ask = { policies, take, id: take, at, taken, cost }
    const step = subjects.adjust(this.#find(subject), ask, now)
    this.#keep(subject, step.subject)
    return step.result
  }

  renew({ subject, policies, id: take }: LocalTakeParts): Renewal {
    const at = instantOf(this.#clock)
    const step = subjects.renew(this.#find(subject), { policies, take }, this.#now())
    this.#keep(subject, step.subject)
    return step.result ? { kind: 'renewed', at } : { kind: 'missing' }
  }

  #now(): number {
    return Math.floor(this.#start + this.#clock.monotonic())
  }

  #find(subject: string): subjects.Subject | null {
    return this.#subjects.get(subject) ?? null
  }

  #keep(subject: string, state: subjects.Subject | null): void {
    if (state === null) this.#subjects.delete(subject)
    else this.#subjects.set(subject, state)
  }

  #shareOf(policies: Policies, instances: number): Policies {
    const shares = this.#shares.get(policies) ?? new Map<number, Policies>()
    this.#shares.set(policies, shares)
    let share = shares.get(instances)
    if (share === undefined) {
      share = policies.map((policy) => bounded(shareOf(policy, instances))) as unknown as Policies
      shares.set(instances, share)
    }
    return share
  }
}

/** One instance's part of a policy; never less than one at a time. */
export function shareOf(policy: Policy, instances: number): Policy {
  const part = (all: number): number => Math.max(1, Math.floor(all / instances))
  // The flow is slowed down by its time, which needs no rounding.
  if (policy.kind === 'token-bucket' || policy.kind === 'leaky-bucket')
    return { ...policy, capacity: part(policy.capacity), per: policy.per * instances }
  return { ...policy, limit: part(policy.limit) }
}

/** A log of times takes memory by the limit; two numbers do not. */
function bounded(policy: Policy): Policy {
  if (policy.kind !== 'sliding-window' || policy.limit <= bounds.localLogLimit) return policy
  return { ...policy, kind: 'sliding-counter' }
}

/** What is above the share of one instance, and not above the whole, is denied for now, not for ever. */
function asWhole({ policies, cost }: LocalAsk, verdict: Verdict): Verdict {
  if (!verdict.policies.some(({ never }) => never)) return verdict
  return {
    ...verdict,
    policies: verdict.policies.map((one, index) => {
      const policy = policies[index] as Policy
      if (!one.never || cost > capacityOf(policy)) return one
      return { ...one, never: false, retryAfter: Math.max(1, one.resetAfter, spanOf(policy)) }
    }),
  }
}

interface LocalTakeParts {
  readonly limiter: string
  readonly subject: string
  readonly policies: Policies
  readonly id: string
  readonly at: number
  readonly cost: number
}

/** A take that was counted in this process. */
export class LocalTake implements Counted {
  readonly #limits: LocalLimits
  #about: LocalTakeParts

  constructor(limits: LocalLimits, about: LocalTakeParts) {
    this.#limits = limits
    this.#about = about
  }

  get limiter(): string {
    return this.#about.limiter
  }

  get subject(): string {
    return this.#about.subject
  }

  /** What it counted under some of its policies alone. */
  of(isMeant: (policy: Policy) => boolean): LocalTake {
    const policies = this.#about.policies.filter(isMeant) as unknown as Policies
    return new LocalTake(this.#limits, { ...this.#about, policies })
  }

  async change(cost: number): Promise<boolean> {
    const changed = this.#limits.change(this.#about, cost)
    this.#about = { ...this.#about, cost }
    return changed
  }

  async renew(): Promise<Renewal> {
    return this.#limits.renew(this.#about)
  }
}
