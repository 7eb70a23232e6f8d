import { lockAddress } from 'holdfast/testing'
import { afterAll, expect, test } from 'vitest'
import { ModelCluster } from '../../src/sim/cluster/cluster.ts'
import type { ClusterMember } from '../../src/sim/cluster/member.ts'
import { Dice } from '../../src/sim/dice.ts'
import type { ServerHost } from '../../src/sim/network/server-host.ts'
import type { CallerPlan, ClientPlan, Fault, LockStep, Plan } from '../../src/sim/plan/plan.ts'
import { Runner } from '../../src/sim/runner.ts'
import { Scheduler } from '../../src/sim/scheduler.ts'
import { ScriptCache } from '../../src/sim/server/lua/script-cache.ts'

/**
 * Goal: what the schedules of the scenarios `slots` and `cluster` found, kept as plans of their own, whatever a seed means by now.
 * Method: a model cluster of three nodes, and clients that hold one lock on each of two of them.
 */

const runner = new Runner()
afterAll(() => runner.close())

const holds = (name: number, ms: number): CallerPlan => ({
  startsAt: 0,
  steps: [
    {
      kind: 'lock',
      how: 'acquire',
      name,
      ttl: 1_000,
      renew: true,
      maxHold: null,
      wait: 0,
      retry: 'queue',
      abortAfter: null,
      work: [{ kind: 'pause', for: ms }],
      ending: 'release',
    },
  ],
})

const planOf = (family: 'ioredis' | 'node-redis', ahead: number, faults: readonly Fault[] = []): Plan => ({
  seed: 1,
  scenario: 'cluster',
  // The first lies on the second node, the other one on the third.
  names: ['lock-2', 'lock-3'],
  limiters: [],
  runs: [],
  budget: 500,
  server: { rate: 1, offMillis: 0 },
  nodes: [0, 0, ahead].map((offMillis) => ({ rate: 1, offMillis })),
  delay: { from: 1, to: 2 },
  clients: [
    { family, traits: { rate: 1, wallOff: 0, lateness: 0 }, callers: [holds(0, 5_000), holds(1, 5_000)] },
  ],
  faults,
})

test.each(['ioredis', 'node-redis'] as const)(
  'clocks of nodes that stand apart take no lock from anybody (%s)',
  async (family) => {
    for (const ahead of [-3_000, 3_000]) {
      const { faults, verdict } = await runner.run(planOf(family, ahead))
      expect(faults).toEqual([])
      expect(verdict.counted.losses).toEqual({})
      expect(verdict.counted.acquires.granted).toBeGreaterThanOrEqual(4)
    }
  },
)

test.each(['ioredis', 'node-redis'] as const)(
  'a slot that is on its way for longer than a lease takes no lock from anybody (%s)',
  async (family) => {
    const when = { at: 500 }
    const move: Fault = { when, kind: 'move-slot', name: 0, step: 1, for: 2_500 }
    const { faults, verdict } = await runner.run(planOf(family, 3_000, [move]))
    expect(faults).toEqual([])
    expect(verdict.counted.losses).toEqual({})
  },
)

test.each(['ioredis', 'node-redis'] as const)(
  'a node dies with a grant that its replica lacks: its holder is told without renewal, as soon as its process has found the next one (%s)',
  async (family) => {
    const lock = { ...(holds(0, 15_000).steps[0] as LockStep), ttl: 20_000, renew: false }
    const plan = planOf(family, 0, [
      { when: { at: 1_000 }, kind: 'node-dies', name: 0, for: 400, lag: 2_000 },
    ])
    const [client] = plan.clients as [ClientPlan]
    const { faults, result } = await runner.run({
      ...plan,
      // Both lie on the second node. One is renewed, and so finds who has taken over.
      names: ['lock-2', 'lock-1'],
      tells: true,
      clients: [{ ...client, callers: [{ startsAt: 0, steps: [lock] }, holds(1, 10_000)] }],
    })
    expect(faults).toEqual([])
    const losses = result.records.filter((record) => record.kind === 'loss')
    expect(losses.map(({ reason }) => reason)).toEqual(['missing', 'missing'])
    expect(Math.max(...losses.map(({ time }) => time))).toBeLessThan(6_000)
  },
)

test('a node is dead when all faults are healed: no node misses it from then on', async () => {
  const lock = { ...(holds(0, 20_000).steps[0] as LockStep), ttl: 4_000, renew: false }
  const plan = planOf('ioredis', 0, [
    { when: { at: 500 }, kind: 'kill', client: 0, restartAfter: null },
    // Half of it is over when the lease of the dead ends, all of it when the lock must have been had.
    { when: { at: 600 }, kind: 'node-dies', name: 0, for: 6_790, lag: 0 },
  ])
  const [client] = plan.clients as [ClientPlan]
  const { faults } = await runner.run({
    ...plan,
    clients: [
      { ...client, callers: [{ startsAt: 0, steps: [lock] }] },
      { ...client, callers: [holds(1, 700)] },
    ],
  })
  expect(faults).toEqual([])
})

test('as long as a node is missed the others serve nobody, also when a second one is replaced meanwhile', () => {
  const scheduler = new Scheduler()
  const clocks = [0, 0, 0].map((offMillis) => ({ rate: 1, offMillis }))
  const cluster = new ModelCluster(scheduler, new Dice(1), { scripts: new ScriptCache(), clocks })
  const [first, second, third] = cluster.hosts as [ServerHost, ServerHost, ServerHost]
  const serves = (time: number): boolean => {
    while (scheduler.step(time));
    const refusal = (third.member as ClusterMember).refusal([lockAddress('holdfast:v1', 'lock-3').key], false)
    return refusal?.message !== 'CLUSTERDOWN The cluster is down'
  }
  cluster.failOver(first, { lag: 0, after: 1_000 })
  cluster.failOver(second, { lag: 0, after: 600 })
  expect([299, 301, 599, 601, 999, 1_001].map(serves)).toEqual([true, false, false, false, false, true])
  cluster.failOver(cluster.hosts[1] as ServerHost, { lag: 0, after: 1_000 })
  cluster.heal()
  expect([1_002, 1_600, 2_100].map(serves)).toEqual([true, true, true])
})
