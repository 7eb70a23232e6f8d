import { expect, test } from 'vitest'
import { checkHistory } from '../../testing/checker/check.ts'
import { formatVerdict } from '../../testing/checker/format.ts'
import { MemoryHistory } from '../../testing/history-log.ts'
import { HistoryRecorder } from '../../testing/history-recorder.ts'
import type { NodeOptions } from '../../testing/node-store.ts'
import { QuorumBench } from '../../testing/quorum-bench.ts'
import { seededRandomness } from '../../testing/seeded-randomness.ts'
import type { StoreCall, Trouble } from '../../testing/troubled-store.ts'

/**
 * Goal: whatever happens to nodes and ways, at most one process believes to hold, and fences rise.
 * Method: random schedules by seed: slow, silent, refusing and repeating nodes for each process, nodes that come back empty and
 * grant nothing until old leases are over. The checker judges the whole history. HOLDFAST_QUORUM_SEEDS runs more of them.
 */

const SEEDS = Number(process.env['HOLDFAST_QUORUM_SEEDS'] ?? 25)
const TTL = 1_500
const STEPS = 40
const CALLS: readonly StoreCall[] = ['acquire', 'release', 'renew', 'raise']

function troubleFrom(fraction: () => number): Trouble {
  const slow = Math.floor(fraction() * 300)
  const kinds: readonly Trouble[] = [
    'swallowed',
    'unanswered',
    'cut',
    'refused',
    'twice',
    { answeredAfter: slow },
    { arrivesAfter: slow },
  ]
  return kinds[Math.floor(fraction() * kinds.length)] as Trouble
}

async function play(seed: number, node: NodeOptions): Promise<{ grants: number; failure: string | null }> {
  const { fraction } = seededRandomness(seed + 1_000)
  const bench = new QuorumBench({
    nodes: Array.from({ length: 3 }, () => node),
    processes: 3,
    quorum: { nodeBudget: '100ms', fence: true },
    seed,
  })
  const log = new MemoryHistory()
  const locks = bench.processes.map(({ hf }, i) => {
    const recorder = new HistoryRecorder({ process: `p${i}`, log, clock: bench.clock })
    const about = { name: 'a', ttl: TTL, wait: 2_000, budget: 1_000 }
    return recorder.lock(hf.lock('a', { ttl: TTL, wait: 2_000 }), about)
  })
  let grants = 0
  let restarted = -Infinity
  let over = false
  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => void bench.clock.setTimer(resolve, ms))
  const actors = locks.map(async (lock) => {
    while (!over) {
      await sleep(fraction() * 300)
      const held = await lock.acquire().catch(() => null)
      if (held === null) continue
      grants += 1
      await sleep(fraction() * 2 * TTL)
      await held.release().catch(() => undefined)
    }
  })
  for (let step = 0; step < STEPS; step += 1) {
    await bench.clock.advance(fraction() * 400)
    const process = Math.floor(fraction() * 3)
    const at = Math.floor(fraction() * 3)
    const dice = fraction()
    if (dice < 0.5) {
      const call = CALLS[Math.floor(fraction() * CALLS.length)] as StoreCall
      bench
        .process(process)
        .ways[at]?.trouble(call, troubleFrom(fraction), { times: 1 + Math.floor(fraction() * 4) })
    } else if (dice < 0.75) {
      bench.heal(process)
    } else if (bench.clock.monotonic() - restarted > 2 * TTL) {
      // One at a time: a majority that forgets is beyond what a quorum promises.
      bench.nodes[at]?.restart()
      restarted = bench.clock.monotonic()
    }
  }
  over = true
  for (let i = 0; i < 3; i += 1) bench.heal(i)
  await bench.within(Promise.all(actors), 20_000)
  const verdict = checkHistory(log.records, { settleSlack: 400, compensationBound: 10_000 })
  return {
    grants,
    failure: verdict.ok && verdict.overlaps.length === 0 ? null : `seed ${seed}: ${formatVerdict(verdict)}`,
  }
}

test('random schedules: no two hold at once, and fences rise', { timeout: 120_000 }, async () => {
  let grants = 0
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const played = await play(seed, { reopensAfter: TTL + 200 })
    expect(played.failure).toBeNull()
    grants += played.grants
  }
  expect(grants).toBeGreaterThan(SEEDS * 3)
})

test(
  'the same schedules find two holders when a node that comes back grants at once',
  { timeout: 120_000 },
  async () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const { failure } = await play(seed, { reopensAfter: 0 })
      if (failure !== null) return expect(failure).toMatch(/INV-M2/)
    }
    expect.unreachable('no schedule found it')
  },
)
