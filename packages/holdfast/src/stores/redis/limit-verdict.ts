import { HitLog, type Hit } from '../../store/limit/algorithms/hit-log.ts'
import type { PolicyVerdict, Verdict } from '../../store/limit/contract.ts'
import { Standing, type AnyUsage } from '../../store/limit/decide.ts'
import type { Policy } from '../../store/limit/policy.ts'
import { FACTS, unitsOf } from './limit-rules.ts'

/**
 * The scripts decide and count; how much is left and how long to wait is worked out here, from the few numbers by which a
 * script tells how a policy stands, and by the algorithms that all stores share. So the server does only what must be done
 * in the atomic step.
 */

/** First number of a reply of several, as in lua/shared/limit-subject.lua. */
const DENIED = 0
const ADMITTED = 1
const BLOCKED = 2
const DENIED_AND_COUNTED = 3

type Words = readonly string[]

/** What a script said of one subject. */
interface Said {
  readonly status: number
  readonly blockedFor: number
  /** Of a denied take that was counted: what each policy said before, whether it admits and its delay. */
  readonly before: readonly number[]
  readonly facts: readonly number[]
}

/** The verdict on a take, from what the script said once it was counted. */
export function takeVerdict(reply: Words, policies: readonly Policy[], cost: number, at: number): Verdict {
  const said = read(reply, policies, at)
  const verdicts = standings(policies, said.facts, cost, at).map((standing, i): PolicyVerdict => {
    if (said.status === ADMITTED) return admitted(standing, cost)
    const judgement = standing.judge(cost)
    if (said.status !== DENIED_AND_COUNTED) return standing.verdict(judgement)
    const [allowed, delay = 0] = said.before.slice(2 * i)
    return standing.verdict({ ...judgement, allowed: allowed === 1, delay })
  })
  return { allowed: said.status === ADMITTED, blockedFor: said.blockedFor, policies: verdicts, at }
}

/** The verdict on a take that was not counted, but is to be answered as if it had been. */
export function peekVerdict(reply: Words, policies: readonly Policy[], cost: number, at: number): Verdict {
  const said = read(reply, policies, at)
  const allowed = said.status === ADMITTED
  const verdicts = standings(policies, said.facts, cost, at).map((standing) => {
    const judgement = standing.judge(cost)
    return (allowed ? standing.count(cost, '') : standing).verdict(judgement)
  })
  return { allowed, blockedFor: said.blockedFor, policies: verdicts, at }
}

/** A reply is one number where one tells all: that of an admitted take, or -1 less that of a denied one. */
function read(words: Words, policies: readonly Policy[], at: number): Said {
  const reply = words.map(Number)
  const [first = 0, second = 0] = reply
  if (reply.length === 1) {
    return first >= 0
      ? { status: ADMITTED, blockedFor: 0, before: [], facts: reply }
      : { status: DENIED, blockedFor: 0, before: [], facts: [-1 - first] }
  }
  const blockedFor = first === BLOCKED ? second - at : 0
  const facts = 1 + (first === BLOCKED ? 1 : first === DENIED_AND_COUNTED ? 2 * policies.length : 0)
  return { status: first, blockedFor, before: reply.slice(1, facts), facts: reply.slice(facts) }
}

function standings(
  policies: readonly Policy[],
  facts: readonly number[],
  cost: number,
  at: number,
): readonly Standing[] {
  let from = 0
  return policies.map((policy) => {
    const own = facts.slice(from, (from += FACTS[policy.kind]))
    return new Standing(policy, usageOf(policy, own, cost, at), at)
  })
}

/** A usage that says to this cost what the real one would. */
function usageOf(
  policy: Policy,
  [one = 0, two = 0, three = 0]: readonly number[],
  cost: number,
  at: number,
): AnyUsage {
  switch (policy.kind) {
    case 'fixed-window':
      return { window: Math.floor(at / policy.per), per: policy.per, count: one }
    case 'sliding-counter':
      return { window: Math.floor(at / policy.per), per: policy.per, current: one, previous: two }
    case 'token-bucket':
    case 'leaky-bucket':
      return { level: one, time: at, unit: unitsOf(policy).unit }
    case 'sliding-window':
      return { log: HitLog.from(inTwo(one, two, three, one + cost - policy.limit).map(hit)) }
    case 'concurrency':
      return { slots: inTwo(one, two, three, one + cost - policy.limit).map(slot) }
  }
}

type Weighed = readonly [time: number, weight: number]

/** So much up to the time at which enough is over, and the rest at the last. */
function inTwo(used: number, last: number, enough: number, over: number): readonly Weighed[] {
  if (used === 0) return []
  if (enough === 0 || enough === last) return [[last, used]]
  return [
    [enough, over],
    [last, used - over],
  ]
}

const hit = ([time, weight]: Weighed): Hit => ({ time, weight })
const slot = ([end, weight]: Weighed): { take: string; end: number; weight: number } => ({
  take: '',
  end,
  weight,
})

/** Admitted, and counted by now. */
function admitted(standing: Standing, cost: number): PolicyVerdict {
  const { policy } = standing
  let delay = 0
  if (policy.kind === 'leaky-bucket') {
    const { unit, drain } = unitsOf(policy)
    delay = Math.ceil(((standing.usage as { level: number }).level - cost * unit) / drain)
  }
  return standing.verdict({ allowed: true, never: false, retryAfter: 0, delay })
}
