import type { Dice } from '../dice.ts'
import type { Catching } from '../actor.ts'
import type { Role } from '../network/link.ts'
import type { Fate } from '../network/way.ts'
import { CLUSTER_FAULTS } from './cluster-scenarios.ts'
import type { Fault, FaultKind, Moment, ScriptName } from './plan.ts'
import { SWITCHES } from './switches.ts'

/** What faults are measured by. */
export interface Measures {
  readonly clients: number
  readonly names: number
  readonly ttl: number
  readonly budget: number
  /** The usual delay's upper bound. */
  readonly latency: number
  /** Requests that faults wait for. */
  readonly scripts: readonly ScriptName[]
  /** Faults at a time come before this. */
  readonly span: number
}

export type Draw = (dice: Dice, measures: Measures) => FaultKind

const client = (dice: Dice, { clients }: Measures): number => dice.whole(0, clients - 1)

/** Around the lengths that matter: a try, a budget, a lease and its parts. */
function length(dice: Dice, { ttl, budget, latency }: Measures): number {
  const around = dice.pick([latency * 3, budget / 3, budget, ttl / 3, ttl, 3 * ttl])
  return Math.max(1, Math.round(around * dice.between(0.5, 1.3)))
}

function fate(dice: Dice, measures: Measures): Fate {
  const roll = dice.between(0, 1)
  if (roll < 0.35) return 'lost'
  if (roll < 0.7) return 'arrive'
  return { heldFor: length(dice, measures) }
}

const catching = (dice: Dice): Catching => dice.pick(['in-order', 'timers-first', 'messages-first'] as const)

const roles = (dice: Dice): readonly Role[] =>
  dice.pick<readonly Role[]>([['commands'], ['commands'], ['commands', 'channels'], ['channels']])

const REFUSALS = [
  "READONLY You can't write against a read only replica.",
  'LOADING Redis is loading the dataset in memory',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  "OOM command not allowed when used memory > 'maxmemory'.",
  'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
]

/** How each kind of fault is drawn. */
export const FAULTS = {
  reset: (dice, measures) => ({
    kind: 'reset',
    client: client(dice, measures),
    roles: roles(dice),
    fate: fate(dice, measures),
  }),
  /** The connection ends right after a request was sent, which arrives some tries or a budget later. */
  straggle: (dice, measures) => ({
    kind: 'reset',
    client: client(dice, measures),
    roles: ['commands'],
    fate: { heldFor: measures.budget * dice.between(0.05, 1.6) },
  }),
  /** The same, and it arrives when nobody waits for it any more. */
  linger: (dice, measures) => ({
    kind: 'reset',
    client: client(dice, measures),
    roles: ['commands'],
    fate: { heldFor: measures.budget * dice.between(1.5, 4) },
  }),
  /** Answers take some tries, and come together before the call gives up. */
  deafen: (dice, measures) => ({
    kind: 'hold',
    client: client(dice, measures),
    direction: 'down',
    for: measures.budget * dice.between(0.35, 0.95),
  }),
  /** What was sent is done, its answer is lost, and it is some tries before a new connection comes about. */
  part: (dice, measures) => ({
    kind: 'reset',
    client: client(dice, measures),
    roles: ['commands'],
    fate: 'arrive',
    away: measures.budget * dice.between(0.2, 0.9),
  }),
  /** Nothing passes until a while after the call has given up. */
  outlast: (dice, measures) => ({
    kind: 'hold',
    client: client(dice, measures),
    direction: dice.pick(['up', 'both'] as const),
    for: measures.budget * dice.between(1, 1.8),
  }),
  hold: (dice, measures) => ({
    kind: 'hold',
    client: client(dice, measures),
    direction: dice.pick(['up', 'down', 'down', 'both'] as const),
    for: length(dice, measures),
  }),
  slow: (dice, measures) => {
    const typical = dice.pick([measures.budget / 3, measures.ttl * 0.4, measures.ttl])
    return {
      kind: 'slow',
      client: client(dice, measures),
      delay: { from: typical * 0.3, to: typical * 1.2 },
      for: 3 * length(dice, measures),
    }
  },
  stop: (dice, measures) => ({
    kind: 'stop',
    client: client(dice, measures),
    for: length(dice, measures),
    catching: catching(dice),
  }),
  sleep: (dice, measures) => ({
    kind: 'sleep',
    client: client(dice, measures),
    for: length(dice, measures),
    catching: catching(dice),
  }),
  'step-wall': (dice, measures) => ({
    kind: 'step-wall',
    client: client(dice, measures),
    by: dice.pick([-3_600_000, -length(dice, measures), length(dice, measures), 3_600_000]),
  }),
  kill: (dice, measures) => ({
    kind: 'kill',
    client: client(dice, measures),
    restartAfter: dice.chance(0.3) ? null : length(dice, measures),
  }),
  close: (dice, measures) => ({
    kind: 'close',
    client: client(dice, measures),
    release: dice.chance(0.8),
  }),
  freeze: (dice, measures) => ({ kind: 'freeze', for: length(dice, measures) }),
  restart: (dice, measures) => ({
    kind: 'restart',
    for: Math.max(1, Math.round(length(dice, measures) / 2)),
    survival: dice.pick(['all', 'none', 'as-noted'] as const),
    lag: length(dice, measures) / 3,
  }),
  failover: (dice, measures) => {
    const split = dice.chance(0.4)
    const by = dice.chance(0.5) ? 0 : Math.round(length(dice, measures) * dice.pick([-0.1, 0.1, -1, 1]))
    const all = Array.from({ length: measures.clients }, (_, index) => index)
    return {
      kind: 'failover',
      for: Math.max(1, Math.round(length(dice, measures) / 2)),
      lag: dice.chance(0.3) ? 0 : length(dice, measures) / 3,
      by: split ? 0 : by,
      split: split ? all.filter(() => dice.chance(0.5)) : null,
    }
  },
  evict: (dice, measures) => ({
    kind: 'evict',
    what: dice.pick(['lock', 'fence', 'fence', 'queue'] as const),
    name: dice.whole(0, measures.names - 1),
  }),
  flush: () => ({ kind: 'flush' }),
  'script-flush': () => ({ kind: 'script-flush' }),
  'step-server': (dice, measures) => ({
    kind: 'step-server',
    by: Math.round(length(dice, measures) * dice.pick([-1, 1, -20, 20])),
  }),
  refuse: (dice, measures) => ({
    kind: 'refuse',
    error: dice.pick(REFUSALS),
    for: length(dice, measures),
  }),
} as const satisfies Record<string, Draw>

/** Faults that befall right after a request, never at a time of their own. */
const AFTER_A_REQUEST: ReadonlySet<FaultName> = new Set(['straggle', 'linger', 'deafen', 'outlast', 'part'])

const DRAWS = { ...FAULTS, ...SWITCHES, ...CLUSTER_FAULTS } satisfies Record<string, Draw>

export type FaultName = keyof typeof DRAWS

/** One fault of one of the kinds given. */
export function drawFault(dice: Dice, kinds: readonly FaultName[], measures: Measures): Fault {
  const kind = dice.pick(kinds)
  const what: FaultKind = DRAWS[kind](dice, measures)
  return {
    when: drawMoment(dice, what, {
      ...measures,
      atAnyTime: AFTER_A_REQUEST.has(kind) ? 0 : 0.35,
    }),
    ...what,
  }
}

function drawMoment(
  dice: Dice,
  what: FaultKind,
  { latency, span, clients, scripts, atAnyTime }: Measures & { readonly atAnyTime: number },
): Moment {
  if (dice.chance(atAnyTime)) return { at: dice.whole(0, span) }
  return {
    client: 'client' in what ? what.client : dice.whole(0, clients - 1),
    script: dice.pick(scripts),
    nth: dice.whole(1, 4),
    after: dice.between(0, 3 * latency),
  }
}
