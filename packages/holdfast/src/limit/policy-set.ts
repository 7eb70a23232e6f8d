import type { Clock } from '../clock.ts'
import { bounds } from '../defaults.ts'
import type { Duration } from '../duration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { show } from '../show.ts'
import type { Policy } from '../store/limit/policy.ts'
import { checkPolicy, derivedName, describePolicy, withNumbers } from './policies.ts'

/** The policies of a limiter, in the order given. */
export type Policies = readonly [Policy, ...Policy[]]

/** Other numbers for one policy; what is left out stays. */
export interface PolicyNumbers {
  /** For windows and slots. */
  readonly limit?: number
  /** For buckets. */
  readonly capacity?: number
  /** For token buckets. */
  readonly refill?: number
  /** For leaky buckets. */
  readonly rate?: number
  /** For windows and buckets. */
  readonly per?: Duration
  /** For slots. */
  readonly lease?: Duration
}

/**
 * What `limitFor` returns for a subject. Nothing: the limiter's own policies. For a limiter of one policy its numbers, as
 * `{ limit: 500 }`. For one of several an object by the policies' names, as `{ hourly: { limit: 500 } }`. Or policies of the
 * same kinds and names.
 */
export type SubjectLimits =
  | null
  | undefined
  | PolicyNumbers
  | Policy
  | readonly Policy[]
  | Readonly<Record<string, PolicyNumbers | Policy>>

/** Gives the limits of a subject. */
export type LimitFor = (subject: string) => SubjectLimits | PromiseLike<SubjectLimits>

/**
 * Checks what `hf.limiter()` was given, and numbers derived names apart.
 *
 * @throws InvalidArgumentError that names what is wrong
 */
export function checkPolicies(value: unknown): Policies {
  const given: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (given.length === 0 || given.length > bounds.maxPolicies) {
    throw new InvalidArgumentError('policies', value, {
      problem: given.length === 0 ? 'has no policy' : `has ${given.length} policies`,
      remedy: `Give one policy, or an array of up to ${bounds.maxPolicies}.`,
    })
  }
  const names = new Set<string>()
  const policies = given.map((each, index) => {
    const policy = named(checkPolicy(each, given === value ? `policies[${index}]` : 'policies'), names)
    names.add(policy.name)
    return policy
  })
  return Object.freeze(policies) as unknown as Policies
}

function named(policy: Policy, taken: ReadonlySet<string>): Policy {
  if (!taken.has(policy.name)) return policy
  if (policy.name === derivedName(policy)) {
    for (let number = 2; ; number += 1) {
      const name = `${policy.name}-${number}`
      if (!taken.has(name)) return Object.freeze({ ...policy, name })
    }
  }
  throw new InvalidArgumentError('policies', policy.name, {
    problem: 'is the name of two policies of this limiter',
    remedy: 'Give each a name of its own: decisions and headers tell them apart by it.',
  })
}

/** The policies in one line, for errors; equal for equal policies. */
export function describePolicies(policies: Policies): string {
  return policies.map(describePolicy).join(', ')
}

/** Policies that were checked: equal ones are the same object, so that they can be compared and cached by it. */
export class KnownPolicies {
  readonly #known = new Map<string, Policies>()

  same(policies: Policies): Policies {
    const key = describePolicies(policies)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    if (this.#known.size >= bounds.checkedLimits) this.#known.clear()
    this.#known.set(key, policies)
    return policies
  }
}

/** Policies with the slots apart from the others; `null` for none. */
export interface PoliciesApart {
  readonly slots: Policies | null
  readonly others: Policies | null
}

/** Parts policies, and remembers the parts: calls about the same object go to the store together. */
export class SlotsApart {
  readonly #known = new WeakMap<Policies, PoliciesApart>()

  of(policies: Policies): PoliciesApart {
    let parts = this.#known.get(policies)
    if (parts === undefined) {
      const slots = policies.filter(({ kind }) => kind === 'concurrency')
      // Where there is but one part it is the very object.
      const part = (of: readonly Policy[]): Policies | null =>
        of.length === policies.length ? policies : of.length === 0 ? null : (of as unknown as Policies)
      parts = { slots: part(slots), others: part(policies.filter(({ kind }) => kind !== 'concurrency')) }
      this.#known.set(policies, parts)
    }
    return parts
  }
}

/** The limits that hold for a subject. */
export class LimitsBySubject {
  readonly #base: Policies
  readonly #limitFor: LimitFor | null
  readonly #known: KnownPolicies

  readonly #clock: Clock
  readonly #budget: number

  /** @param budget milliseconds within which a promise of limits has to come to something */
  constructor(
    base: Policies,
    limitFor: LimitFor | null,
    known: KnownPolicies,
    { clock, budget }: { clock: Clock; budget: number },
  ) {
    this.#clock = clock
    this.#budget = budget
    this.#base = base
    this.#limitFor = limitFor
    this.#known = known
  }

  /** @throws InvalidArgumentError for limits that are none, and what the caller's function throws */
  of(subject: string): Policies | Promise<Policies> {
    if (this.#limitFor === null) return this.#base
    const limits = this.#limitFor(subject)
    return isThenable(limits) ? this.#awaited(subject, limits) : this.#checked(limits)
  }

  /** Bounded: who waits for the caller's function would wait for ever with it, and hold up the line. */
  #awaited(subject: string, limits: PromiseLike<SubjectLimits>): Promise<Policies> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void =>
        reject(
          new InvalidArgumentError('limitFor', subject, {
            problem: `got no limits from it within the budget of ${this.#budget} ms`,
            remedy: 'Give the function a time-out of its own, and let it return other limits then.',
          }),
        )
      const timer = this.#clock.setTimer(giveUp, this.#budget, { keepAlive: true })
      Promise.resolve(limits)
        .finally(() => timer.cancel())
        .then((value) => this.#checked(value))
        .then(resolve, reject)
    })
  }

  #checked(limits: SubjectLimits): Policies {
    return limits === null || limits === undefined ? this.#base : this.#known.same(merged(this.#base, limits))
  }
}

function isThenable(value: unknown): value is PromiseLike<SubjectLimits> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function merged(base: Policies, limits: NonNullable<SubjectLimits>): Policies {
  if (typeof limits !== 'object') {
    throw new InvalidArgumentError('limitFor', limits, {
      problem: 'was returned, and is no limits',
      remedy: 'Return nothing, numbers as { limit: 500 }, or policies of the same kinds and names.',
    })
  }
  if (Array.isArray(limits)) return replaced(base, limits)
  if ('kind' in limits) return replaced(base, [limits])
  if (base.length === 1) return [withNumbers(base[0], limits, 'limitFor')]
  const by = limits as Readonly<Record<string, unknown>>
  for (const name of Object.keys(by)) policyNamed(base, name)
  return base.map((policy) => {
    const numbers = by[policy.name]
    if (numbers === undefined) return policy
    const isPolicy = typeof numbers === 'object' && numbers !== null && 'kind' in numbers
    return isPolicy
      ? sameKind(policy, checkPolicy(numbers, 'limitFor'))
      : withNumbers(policy, numbers, 'limitFor')
  }) as unknown as Policies
}

/** The base with these policies in place of those they stand for. */
function replaced(base: Policies, given: readonly unknown[]): Policies {
  const policies: Policy[] = [...base]
  for (const each of given) {
    const policy = checkPolicy(each, 'limitFor')
    const of = counterpart(base, policy)
    policies[base.indexOf(of)] = sameKind(of, policy)
  }
  return policies as unknown as Policies
}

/** By name; one that was given no name stands for the only one of its kind. */
function counterpart(base: Policies, policy: Policy): Policy {
  const sameName = base.find(({ name }) => name === policy.name)
  if (sameName !== undefined) return sameName
  const ofKind = base.filter(({ kind }) => kind === policy.kind)
  const [only] = ofKind
  if (only !== undefined && ofKind.length === 1 && policy.name === derivedName(policy)) return only
  return policyNamed(base, policy.name)
}

function policyNamed(base: Policies, name: string): Policy {
  const policy = base.find((each) => each.name === name)
  if (policy !== undefined) return policy
  throw new InvalidArgumentError('limitFor', name, {
    problem: 'was returned, and is the name of no policy of this limiter',
    remedy: `There are: ${base.map((each) => show(each.name)).join(', ')}.`,
  })
}

function sameKind(base: Policy, policy: Policy): Policy {
  if (policy.kind === base.kind) return Object.freeze({ ...policy, name: base.name })
  throw new InvalidArgumentError('limitFor', describePolicy(policy), {
    problem: `was returned for the policy ${show(base.name)}, which is of the kind ${base.kind}`,
    remedy: 'Return other numbers for it; usage carries over only within a kind.',
  })
}
