import { afterAll, expect, test } from 'vitest'
import type { CallerPlan, Plan } from '../../src/sim/plan/plan.ts'
import { Runner } from '../../src/sim/runner.ts'

/**
 * Goal: a lease of whose acquire another copy is still under way is not handed on: its last holder would not know that this copy
 * comes, and it would be granted for nobody. Method: one process, in which three callers wait for a fourth; the connection ends right
 * after the ask that gets them the lock, which arrives again when all have done.
 */

const runner = new Runner()
afterAll(() => runner.close())

const BUDGET = 600
/** By then all have given it back, and what was sent may still be granted. */
const HELD_UP = 450

const holds = (startsAt: number, ms: number): CallerPlan => ({
  startsAt,
  steps: [
    {
      kind: 'lock',
      how: 'acquire',
      name: 0,
      ttl: 6_000,
      renew: true,
      maxHold: null,
      wait: 5_000,
      retry: 'queue',
      abortAfter: null,
      work: [{ kind: 'pause', for: ms }],
      ending: 'release',
    },
  ],
})
const stays: CallerPlan = { startsAt: 0, steps: [{ kind: 'pause', for: 1_500 }] }

const planOf = (family: 'ioredis' | 'node-redis', nth: number): Plan => ({
  seed: 1,
  scenario: 'hand-over',
  names: ['lock-1'],
  limiters: [],
  runs: [],
  budget: BUDGET,
  server: { rate: 1, offMillis: 0 },
  delay: { from: 0.3, to: 1 },
  clients: [
    {
      family,
      traits: { rate: 1, wallOff: 0, lateness: 0 },
      callers: [holds(0, 100), holds(10, 0), holds(12, 0), holds(14, 0), stays],
    },
  ],
  faults: [
    {
      when: { client: 0, script: 'acquire', nth, after: 0.01 },
      kind: 'reset',
      client: 0,
      roles: ['commands'],
      fate: { heldFor: HELD_UP },
    },
  ],
})

test.each(['ioredis', 'node-redis'] as const)(
  'a copy of an acquire that comes after the last of those who had the lease is not left behind (%s)',
  async (family) => {
    let copies = 0
    for (const nth of [1, 2, 3, 4, 5, 6]) {
      const { faults, result } = await runner.run(planOf(family, nth))
      expect(faults).toEqual([])
      const grants = result.records.filter((record) => record.kind === 'store' && record.event === 'grant')
      copies += grants.filter(({ time }) => time > HELD_UP && time < 1_500).length
    }
    // It did come, and was cleared away.
    expect(copies).toBeGreaterThan(0)
  },
)
