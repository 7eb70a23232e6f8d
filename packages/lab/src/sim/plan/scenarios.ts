import { Dice, seedFor } from '../dice.ts'
import { CLUSTER_SCENARIOS } from './cluster-scenarios.ts'
import { drawFault, FAULTS, type FaultName } from './faults.ts'
import { drawLimiters } from './limit-workload.ts'
import { drawRuns } from './once-workload.ts'
import type { Plan, ScriptName } from './plan.ts'
import { USUAL, type Scenario } from './scenario.ts'
import { SWITCH_SCENARIOS } from './switch-scenarios.ts'
import { ALLOWED_DRIFT, drawClient } from './workload.ts'

/** Requests that faults wait for, the more often named the more often. */
const SCRIPTS: Readonly<Record<'locks' | 'limits' | 'once', readonly ScriptName[]>> = {
  locks: ['acquire', 'acquire', 'acquire', 'release', 'release', 'renew', 'leave'],
  limits: ['limit-count', 'limit-count', 'limit-count', 'limit-recount', 'limit-renew', 'limit-peek'],
  once: ['once-claim', 'once-claim', 'once-complete', 'once-complete', 'once-renew', 'once-free'],
}

const NETWORK: readonly FaultName[] = ['reset', 'reset', 'reset', 'hold', 'slow']
const HOLDERS: readonly FaultName[] = ['stop', 'sleep', 'step-wall', 'kill', 'close']
const SERVER: readonly FaultName[] = [
  'freeze',
  'restart',
  'evict',
  'flush',
  'script-flush',
  'step-server',
  'refuse',
]

/** Kinds that other names have already. */
const SPECIAL: ReadonlySet<FaultName> = new Set(['linger', 'deafen', 'outlast', 'part'])
/** Every kind of fault, each by one name only. */
const ALL = (Object.keys(FAULTS) as FaultName[]).filter((name) => !SPECIAL.has(name))

/** No lock, no fence: nothing to evict. Lost replies and late requests often, since they make things count twice. */
const OTHERS: readonly FaultName[] = [
  ...ALL.filter((name) => name !== 'evict'),
  ...(['straggle', 'straggle', 'straggle', 'reset', 'hold'] as const),
]

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  mixed: {
    ...USUAL,
    about: 'up to four faults of every kind',
    faults: { kinds: ALL, least: 0, most: 4 },
  },
  exclusive: {
    ...USUAL,
    about: 'one caller in each of three processes, up to four faults of every kind',
    callers: { least: 1, most: 1 },
    steps: { least: 1, most: 2 },
    faults: { kinds: ALL, least: 0, most: 4 },
  },
  calm: { ...USUAL, about: 'no faults', faults: { kinds: ['flush'], least: 0, most: 0 } },
  network: {
    ...USUAL,
    about: 'connections that end, stand still or are slow',
    faults: { kinds: NETWORK, least: 1, most: 4 },
  },
  stragglers: {
    ...USUAL,
    about: 'requests that are lost, repeated, and arrive late; long leases, short budgets',
    callers: { least: 1, most: 1 },
    steps: { least: 1, most: 2 },
    faults: {
      kinds: ['straggle', 'straggle', 'straggle', 'hold', 'evict', 'close', 'step-server'],
      least: 1,
      most: 4,
    },
    ttls: [6_000],
    budgets: [200, 400, 600],
    extendsFirst: 0.25,
  },
  holders: {
    ...USUAL,
    about: 'processes that stop, sleep, die, close, and wall clocks that are stepped',
    faults: { kinds: HOLDERS, least: 1, most: 3 },
  },
  server: {
    ...USUAL,
    about: 'a server that stands still, restarts, loses data, refuses, and whose clock is stepped',
    faults: { kinds: SERVER, least: 1, most: 3 },
  },
  'hand-over': {
    ...USUAL,
    about: 'many callers in few processes, so that leases are handed on, under every kind of fault',
    clients: { least: 2, most: 2 },
    callers: { least: 2, most: 4 },
    faults: { kinds: ALL, least: 0, most: 3 },
  },
  'two-names': {
    ...USUAL,
    about: 'two names at once, under every kind of fault',
    names: 2,
    faults: { kinds: ALL, least: 0, most: 3 },
  },
  failover: {
    ...USUAL,
    about: 'a replica that lacks the last writes takes over, with and without the old server going on',
    faults: { kinds: ['failover', 'failover', 'failover', ...NETWORK, 'stop', 'restart'], least: 1, most: 3 },
  },
  limits: {
    ...USUAL,
    about: 'limiters: windows, buckets, slots, reservations, under every kind of fault',
    subject: 'limits',
    names: 0,
    steps: { least: 1, most: 5 },
    faults: { kinds: OTHERS, least: 0, most: 3 },
  },
  'late-takes': {
    ...USUAL,
    about:
      'limiters: takes that are lost, repeated, and arrive late, also when nobody waits for them any more',
    subject: 'limits',
    names: 0,
    callers: { least: 1, most: 1 },
    steps: { least: 3, most: 6 },
    faults: { kinds: ['straggle', 'straggle', 'linger', 'linger', 'hold'], least: 1, most: 3 },
    ttls: [1_000, 3_000],
    budgets: [100, 200, 400],
  },
  'late-claims': {
    ...USUAL,
    about: 'work that runs once: claims that are lost, repeated, and arrive late',
    subject: 'once',
    names: 0,
    callers: { least: 1, most: 1 },
    faults: { kinds: ['straggle', 'straggle', 'straggle', 'hold'], least: 1, most: 3 },
    ttls: [1_000, 3_000],
    budgets: [100, 200, 400],
  },
  'late-answers': {
    ...USUAL,
    about:
      'limiters with short windows and leases: takes that are asked twice, and answered late or together',
    subject: 'limits',
    names: 0,
    steps: { least: 4, most: 8 },
    faults: { kinds: ['deafen', 'part'], least: 1, most: 4 },
    ttls: [150, 300],
    budgets: [400, 600],
  },
  'given-back': {
    ...USUAL,
    about:
      'work that runs once and says soon that nothing happened, while another copy of its claim is under way',
    subject: 'once',
    names: 0,
    callers: { least: 1, most: 1 },
    steps: { least: 2, most: 4 },
    faults: { kinds: ['straggle', 'straggle', 'outlast'], least: 1, most: 3 },
    ttls: [1_000, 3_000],
    budgets: [200, 400, 600],
    saysNothing: 0.6,
  },
  once: {
    ...USUAL,
    about: 'work that runs once, with and without another try, under every kind of fault',
    subject: 'once',
    names: 0,
    faults: { kinds: OTHERS, least: 0, most: 3 },
  },
  ...SWITCH_SCENARIOS,
  ...CLUSTER_SCENARIOS,
}

export const scenarioNames: readonly string[] = Object.keys(SCENARIOS)

export function scenario(name: string): Scenario | undefined {
  return Object.hasOwn(SCENARIOS, name) ? SCENARIOS[name] : undefined
}

/** The clocks of nodes, which run apart a little, and may be off by more. */
function drawClocks(dice: Dice, nodes: number): { rate: number; offMillis: number }[] {
  const apart = dice.pick([0, 20, 2_000])
  return Array.from({ length: nodes }, () => ({
    rate: 1 + (dice.chance(0.5) ? 0 : dice.between(-ALLOWED_DRIFT, ALLOWED_DRIFT)),
    offMillis: Math.round(dice.between(-apart, apart)),
  }))
}

/** The plan that a seed gives in a scenario. The same seed always gives the same. */
export function drawPlan(seed: number, name: string): Plan {
  const chosen = scenario(name)
  if (chosen === undefined) throw new RangeError(`there is no scenario ${name}`)
  const dice = new Dice(seedFor(seed, 0))
  const ttl = dice.pick(chosen.ttls)
  const budget = dice.pick(chosen.budgets)
  const latency = dice.pick([0.3, 1, 3, 15])
  const { names, callers, steps } = chosen
  const clients = dice.whole(chosen.clients.least, chosen.clients.most)
  const subject = chosen.subject ?? 'locks'
  const limiters = subject === 'limits' ? drawLimiters(dice, ttl) : []
  const runs = subject === 'once' ? drawRuns(dice, ttl) : []
  const terms = {
    names,
    limiters,
    runs,
    ttl,
    callers,
    steps,
    drift: ALLOWED_DRIFT,
    extendsFirst: chosen.extendsFirst,
    saysNothing: chosen.saysNothing,
    longest: chosen.servers?.reopen === true ? ttl : Infinity,
  }
  const measures = { clients, names, ttl, budget, latency, scripts: SCRIPTS[subject], span: 6 * ttl }
  const faults = dice.whole(chosen.faults.least, chosen.faults.most)
  return {
    seed,
    scenario: name,
    names: Array.from({ length: names }, (_, i) => `lock-${i + 1}`),
    limiters,
    runs,
    budget,
    server: {
      rate: 1 + (dice.chance(0.5) ? 0 : dice.between(-ALLOWED_DRIFT, ALLOWED_DRIFT)),
      offMillis: dice.chance(0.5) ? 0 : Math.round(dice.between(-60_000, 60_000)),
    },
    delay: { from: latency * 0.3, to: latency },
    clients: Array.from({ length: clients }, () => drawClient(dice, terms)),
    faults: Array.from({ length: faults }, () => drawFault(dice, chosen.faults.kinds, measures)),
    ...(chosen.nodes === undefined ? {} : { nodes: drawClocks(dice, chosen.nodes) }),
    ...(chosen.servers?.tell === true ? { tells: true } : {}),
    ...(chosen.servers?.reopen === true ? { reopenDelay: ttl } : {}),
  }
}
