import { encodePart } from '../../name.ts'
import { bucketUnits, type BucketUnits } from '../../store/limit/algorithms/bucket.ts'
import {
  spanOf,
  type LeakyBucket,
  type Policy,
  type PolicyKind,
  type TokenBucket,
} from '../../store/limit/policy.ts'

/**
 * Units of buckets that have a place in the compact form of a level: those of one to a thousand in a second, a minute, an
 * hour or a day. The same list as in lua/shared/limit-bucket.lua; other units take a longer form.
 */
export const COMMON_UNITS: readonly number[] = [
  1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 60, 100, 120, 125, 150, 180, 200, 240, 250, 300, 360, 400, 500, 600, 720,
  900, 1000, 1200, 1500, 1800, 2000, 2400, 3000, 3600, 4000, 5000, 6000, 7200, 7500, 8640, 10_000, 12_000,
  15_000, 18_000, 20_000, 24_000, 30_000, 36_000, 60_000, 72_000, 86_400, 120_000, 180_000, 300_000, 360_000,
  600_000, 720_000, 864_000, 900_000, 1_800_000, 3_600_000, 8_640_000, 43_200_000, 86_400_000,
]

/** How many numbers tell how one policy of a kind stands. */
export const FACTS: Readonly<Record<PolicyKind, number>> = {
  'fixed-window': 1,
  'sliding-window': 3,
  'sliding-counter': 2,
  'token-bucket': 1,
  'leaky-bucket': 1,
  concurrency: 3,
}

/** The key of a subject's usage under a policy ends with this. */
export function usageSuffix({ name }: Policy): string {
  return `:${encodePart(name, 'policy.name')}`
}

/** The policies as the scripts read them. */
export function rulesText(policies: readonly Policy[], countDenied: boolean): string {
  return JSON.stringify({
    rules: policies.map(ruleOf),
    deny: countDenied,
    span: Math.max(...policies.map(spanOf)),
  })
}

/** Up to this limit the ring of an exact window is read and written whole; as in lua/shared/limit-window.lua. */
export const WHOLE_RING = 128

/**
 * Kind and numbers of a bucket or a fixed or exact window that is the only rule: the script then needs nothing else
 * for a plain take. Empty words for anything else.
 */
export function plainRule(policies: readonly Policy[]): readonly string[] {
  const [policy, ...others] = policies
  if (policy !== undefined && others.length === 0) {
    const { kind } = policy
    if (kind === 'fixed-window' || kind === 'sliding-window') {
      const letter = kind === 'fixed-window' ? 'f' : policy.limit <= WHOLE_RING ? 'w' : 'W'
      return [letter, '1', String(policy.per), String(policy.limit), '-1']
    }
    if (kind === 'token-bucket' || kind === 'leaky-bucket') {
      const [letter, , ...numbers] = ruleOf(policy)
      return [letter, ...numbers.map(String)]
    }
  }
  return NOT_PLAIN
}

/** Denied takes that count are none of the plain ones either. */
export const NOT_PLAIN: readonly string[] = ['', '', '', '', '']

type Rule = readonly [kind: string, capacity: number, ...numbers: number[]]

function ruleOf(policy: Policy): Rule {
  switch (policy.kind) {
    case 'fixed-window':
      return ['f', policy.limit, policy.per]
    case 'sliding-window':
      return ['w', policy.limit, policy.per]
    case 'sliding-counter':
      return ['c', policy.limit, policy.per]
    case 'concurrency':
      return ['s', policy.limit, policy.lease]
    case 'token-bucket':
      return bucketRule('t', policy.capacity, unitsOf(policy))
    case 'leaky-bucket':
      return bucketRule('l', policy.capacity, unitsOf(policy))
  }
}

function bucketRule(kind: string, capacity: number, { unit, drain, full }: BucketUnits): Rule {
  return [kind, capacity, unit, drain, full, COMMON_UNITS.indexOf(unit)]
}

/** A bucket in whole numbers. */
export function unitsOf(policy: TokenBucket | LeakyBucket): BucketUnits {
  const rate = policy.kind === 'token-bucket' ? policy.refill : policy.rate
  return bucketUnits(policy.capacity, rate, policy.per)
}
