import type { Dice } from '../dice.ts'
import type { Draw, Measures } from './faults.ts'
import { USUAL, type Scenario } from './scenario.ts'

const name = (dice: Dice, { names }: Measures): number => dice.whole(0, names - 1)

/** What befalls nodes of a cluster, drawn where a scenario names it. */
export const CLUSTER_FAULTS = {
  'move-slot': (dice, measures) => ({
    kind: 'move-slot',
    name: name(dice, measures),
    step: dice.whole(0, 1),
    for: Math.round(
      dice.pick([0, measures.latency, measures.budget / 3, measures.budget, measures.ttl]) *
        dice.between(0.5, 1.5),
    ),
  }),
  'node-dies': (dice, measures) => ({
    kind: 'node-dies',
    name: name(dice, measures),
    for: Math.max(
      1,
      Math.round(dice.pick([measures.budget / 3, measures.budget, measures.ttl]) * dice.between(0.5, 1.5)),
    ),
    lag: dice.chance(0.4)
      ? 0
      : dice.pick([measures.latency, measures.ttl / 3, measures.ttl]) * dice.between(0.2, 1),
  }),
  'node-freezes': (dice, measures) => ({
    kind: 'node-freezes',
    name: name(dice, measures),
    for: Math.max(
      1,
      Math.round(dice.pick([measures.budget / 3, measures.budget, measures.ttl]) * dice.between(0.5, 1.5)),
    ),
  }),
} as const satisfies Record<string, Draw>

/** Worlds of several nodes that share the slots. */
export const CLUSTER_SCENARIOS: Readonly<Record<string, Scenario>> = {
  slots: {
    ...USUAL,
    about: 'a cluster of three nodes: slots move while their locks are held and waited for; nothing is lost',
    names: 2,
    faults: {
      kinds: ['move-slot', 'move-slot', 'move-slot', 'move-slot', 'reset', 'hold', 'stop', 'kill'],
      least: 1,
      most: 4,
    },
    ttls: [400, 1_000, 3_000],
    nodes: 3,
  },
  cluster: {
    ...USUAL,
    about: 'a cluster of three nodes: one dies, and a replica that lags takes over; slots move, nodes freeze',
    names: 2,
    faults: {
      kinds: [
        'node-dies',
        'node-dies',
        'move-slot',
        'move-slot',
        'node-freezes',
        'reset',
        'hold',
        'slow',
        'stop',
        'kill',
        'close',
      ],
      least: 1,
      most: 4,
    },
    ttls: [400, 1_000, 3_000],
    nodes: 3,
  },
}
