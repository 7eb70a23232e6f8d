import { encodeRecord } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { fromPlainCallback } from '../../src/sim/microtasks.ts'
import { drawPlan } from '../../src/sim/plan/scenarios.ts'
import { runPlan, runPlanInTurns, type Run } from '../../src/sim/run.ts'
import { ScriptCache } from '../../src/sim/server/lua/script-cache.ts'

/**
 * Goal: a seed is a whole world. The same seed gives the same history, record for record, however often it is run and
 * whatever ran before it; and the quick way to let promises go on leaves none behind.
 */

const SEEDS = Array.from({ length: 25 }, (_, i) => 7_000 + 13 * i)
const scripts = new ScriptCache()

const quickly = (seed: number): Promise<Run> =>
  fromPlainCallback(() => runPlan(drawPlan(seed, 'mixed'), scripts))

function lines({ result }: Run): string[] {
  return result.records.map(encodeRecord)
}

test('a seed that is run twice, with others in between, gives the same history', async () => {
  const first = new Map<number, string[]>()
  for (const seed of SEEDS) first.set(seed, lines(await quickly(seed)))
  for (const seed of SEEDS.toReversed())
    expect(lines(await quickly(seed)), `seed ${seed}`).toEqual(first.get(seed))
  const histories = new Set([...first.values()].map((history) => history.join('\n')))
  expect(histories.size, 'seeds that differ give histories that differ').toBe(SEEDS.length)
})

test('a turn of the event loop after everything that happens changes nothing: all had settled before', async () => {
  for (const seed of SEEDS) {
    const slowly = await runPlanInTurns(drawPlan(seed, 'mixed'), scripts)
    expect(lines(slowly), `seed ${seed}`).toEqual(lines(await quickly(seed)))
  }
})
