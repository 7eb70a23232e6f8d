import { afterAll, describe, expect, test } from 'vitest'
import { drawPlan, scenario, scenarioNames } from '../../src/sim/plan/scenarios.ts'
import { replayCommand } from '../../src/sim/command/report.ts'
import { Runner } from '../../src/sim/runner.ts'
import type { Run } from '../../src/sim/run.ts'

/**
 * Goal: a fixed set of schedules of every kind breaks no invariant, and shows enough to be worth something: grants, losses,
 * refused writes, overlaps that faults explain. A failure names the command that shows the schedule.
 */

const SEEDS = 120
const FIRST = 1
const MINUTES = 5 * 60_000

const runner = new Runner()
afterAll(() => runner.close())

const LOCKS = scenarioNames.filter((name) => scenario(name)?.subject === undefined)

describe.each(LOCKS)('scenario %s', (scenario) => {
  test(`${SEEDS} schedules keep every invariant`, { timeout: MINUTES }, async () => {
    const counts = { granted: 0, lost: 0, happenings: 0 }
    for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
      const run = await runner.run(drawPlan(seed, scenario))
      expect(run.faults.map(told(run))).toEqual([])
      counts.granted += run.verdict.counted.acquires.granted
      counts.lost += Object.values(run.verdict.counted.losses).reduce((sum, each) => sum + each, 0)
      counts.happenings += run.result.happenings
    }
    expect(counts.granted).toBeGreaterThan(2 * SEEDS)
    expect(counts.lost).toBeGreaterThan(SEEDS / 10)
    expect(counts.happenings).toBeGreaterThan(50 * SEEDS)
  })
})

test(`scenario limits: ${SEEDS} schedules keep every invariant`, { timeout: MINUTES }, async () => {
  const counts = { allowed: 0, denied: 0, remembered: 0, leased: 0, slots: 0, back: 0 }
  for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
    const run = await runner.run(drawPlan(seed, 'limits'))
    expect(run.faults.map(told(run))).toEqual([])
    for (const { outcome, source, slot, changed } of run.result.traffic.takes) {
      if (outcome !== 'unknown') counts[outcome] += 1
      if (source === 'remembered' || source === 'leased') counts[source] += 1
      if (slot !== null) counts.slots += 1
      if (changed?.done === true) counts.back += 1
    }
  }
  expect(counts.allowed).toBeGreaterThan(4 * SEEDS)
  expect(counts.denied).toBeGreaterThan(SEEDS)
  for (const count of [counts.remembered, counts.leased, counts.slots, counts.back])
    expect(count, JSON.stringify(counts)).toBeGreaterThan(SEEDS / 10)
})

test(`scenario once: ${SEEDS} schedules keep every invariant`, { timeout: MINUTES }, async () => {
  const counts = { ran: 0, replayed: 0, abandoned: 0, again: 0 }
  for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
    const run = await runner.run(drawPlan(seed, 'once'))
    expect(run.faults.map(told(run))).toEqual([])
    const { works, runs } = run.result.traffic
    counts.ran += works.length
    counts.again += works.filter(({ attempt }) => attempt > 1).length
    counts.replayed += runs.filter(({ replayed }) => replayed).length
    counts.abandoned += runs.filter(({ reason }) => reason === 'abandoned').length
  }
  expect(counts.ran).toBeGreaterThan(SEEDS)
  expect(counts.replayed).toBeGreaterThan(2 * SEEDS)
  expect(counts.abandoned, JSON.stringify(counts)).toBeGreaterThan(SEEDS / 40)
  expect(counts.again, JSON.stringify(counts)).toBeGreaterThan(SEEDS / 40)
})

const told =
  ({ plan }: Run) =>
  ({ invariant, sentence }: Run['faults'][number]): string =>
    `${invariant} ${sentence} (${replayCommand(plan, null)})`
