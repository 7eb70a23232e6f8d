import assert from 'node:assert/strict'
import type { Policy } from '../store/limit/policy.ts'
import { LONG, policyOf, type LimitParty, type LimitScene, type Taken } from './limit-contract-scene.ts'
import { Ledger } from './limit-ledger.ts'

/** Takes that a walk may come back to. */
const REMEMBERED = 6

/** One subject: as the store has it, and as the algorithms say it must be. */
interface Walked {
  readonly subject: string
  readonly ledger: Ledger
  takes: readonly Taken[]
}

/**
 * Random calls, one after another, about a few subjects by a few processes. Each answer must be what the algorithms say at
 * the time that the store told with it. What was done comes with the failure.
 */
export async function limitWalk(scene: LimitScene, steps: number): Promise<void> {
  const { randomness } = scene.bench
  const below = (count: number): number => Math.floor(randomness.fraction() * count)
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T
  const parties = [await scene.open(), await scene.open(), await scene.open()]
  const sets = policySets(scene)
  const walked = ['red', 'green', 'blue'].map((subject): Walked => ({
    subject,
    ledger: new Ledger(...pick(sets)),
    takes: [],
  }))
  const done: string[] = []
  try {
    for (let i = 0; i < steps; i += 1) {
      const here = pick(walked)
      if (below(12) === 0) here.ledger.policies = pick(sets)
      if (below(6) === 0) await scene.pass(pick([0.1, 0.5, 1, 2, 5]))
      const step = pick(STEPS)
      done.push(`${here.subject}: ${step.name}`)
      await step({ scene, party: pick(parties), here, below })
    }
  } catch (error) {
    if (error instanceof Error)
      error.message += `\nafter ${done.length} steps, the last: ${done.slice(-12).join(', ')}`
    throw error
  }
}

/** Policies under names that stay, with limits and windows that do not. */
function policySets(scene: LimitScene): readonly (readonly Policy[])[] {
  const [short, middle] = [scene.units(3), scene.units(7)]
  return [
    [policyOf('sliding-window', 8, middle, 'a'), policyOf('token-bucket', 9, middle, 'b')],
    [
      policyOf('sliding-window', 5, short, 'a'),
      { ...policyOf('token-bucket', 12, middle, 'b'), refill: 7 } as Policy,
    ],
    [policyOf('fixed-window', 6, middle, 'c'), policyOf('sliding-counter', 9, short, 'd')],
    [policyOf('fixed-window', 9, short, 'c'), policyOf('sliding-counter', 7, middle, 'd')],
    [policyOf('leaky-bucket', 6, middle, 'e'), policyOf('concurrency', 6, short, 'f')],
    [policyOf('leaky-bucket', 4, short, 'e'), policyOf('concurrency', 8, middle, 'f')],
    [policyOf('sliding-window', 8, LONG, 'c'), policyOf('concurrency', 5, middle, 'a')],
  ]
}

interface Stage {
  readonly scene: LimitScene
  readonly party: LimitParty
  readonly here: Walked
  readonly below: (count: number) => number
}

const STEPS: readonly ((stage: Stage) => Promise<void>)[] = [
  take,
  take,
  take,
  take,
  peek,
  adjust,
  adjust,
  renew,
  reset,
  block,
]

async function take({ scene, party, here, below }: Stage): Promise<void> {
  const { ledger, subject } = here
  const cost = 1 + below(below(4) === 0 ? 10 : 3)
  const wish = {
    subject,
    id: scene.id(),
    countDenied: below(5) === 0,
    returnAfter: below(5) === 0 ? Math.ceil(scene.units(1 + below(4))) : null,
  }
  const { result } = await party.tryTake(ledger.policies, cost, wish)
  assert.ok(result.kind === 'decided')
  assert.deepEqual(result, { kind: 'decided', ...ledger.takeAll(cost, result.at, wish) }, `take ${cost}`)
  if (result.allowed) here.takes = [{ ...result, id: wish.id, cost }, ...here.takes].slice(0, REMEMBERED)
}

async function peek({ party, here: { ledger, subject }, below }: Stage): Promise<void> {
  const cost = 1 + below(6)
  const verdict = await party.peek(ledger.policies, cost, { subject })
  assert.deepEqual(verdict, ledger.peekAll(cost, verdict.at), `peek ${cost}`)
}

async function adjust({ party, here, below }: Stage): Promise<void> {
  const { ledger, subject, takes } = here
  const taken = takes[below(takes.length)]
  if (taken === undefined) return
  const cost = below(3) === 0 ? below(8) : 0
  const { result, serverTime } = await party.tryAdjust(ledger.policies, taken, cost, { subject })
  const change = { take: taken.id, at: taken.at, taken: taken.cost, cost }
  const adjusted = ledger.adjust(change, Math.floor(serverTime))
  assert.deepEqual(result, { kind: 'done', adjusted }, `adjust from ${taken.cost} to ${cost}`)
  here.takes = takes
    .map((other) => (other === taken ? { ...taken, cost } : other))
    .filter((other) => other.cost > 0)
}

async function renew({ party, scene, here: { ledger, subject, takes }, below }: Stage): Promise<void> {
  const taken = takes[below(takes.length)]
  if (taken === undefined) return
  const ask = { address: scene.address(subject), policies: ledger.policies, take: taken.id }
  const { result, serverTime } = await party.limits.renew(ask, scene.attempt())
  const renewed = ledger.renew(taken.id, Math.floor(serverTime))
  assert.equal(result.kind, renewed ? 'renewed' : 'missing', 'renew')
}

async function reset({ party, scene, here: { ledger, subject }, below }: Stage): Promise<void> {
  if (below(3) > 0) return
  // Of every name that was used: what a store keeps under others it may not know of.
  const policies = [
    ...new Map(
      policySets(scene)
        .flat()
        .map((policy) => [policy.name, policy]),
    ).values(),
  ]
  const ask = { address: scene.address(subject), policies }
  const { serverTime } = await party.limits.reset(ask, scene.attempt())
  ledger.reset(Math.floor(serverTime))
}

async function block({ party, scene, here: { ledger, subject }, below }: Stage): Promise<void> {
  if (below(3) > 0) return
  const duration = below(3) * Math.ceil(scene.units(1))
  const ask = { address: scene.address(subject), policies: ledger.policies, duration }
  const { serverTime } = await party.limits.block(ask, scene.attempt())
  ledger.block(duration, Math.floor(serverTime))
}
