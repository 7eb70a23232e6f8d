import type { ContenderName } from '../contenders/index.ts'
import { interleave } from '../measurements.ts'
import type { HeapWish } from '../client/heap.ts'
import type { Load } from './load.ts'

const wish: HeapWish = { concurrency: 64, warmUpCycles: 10_000, cycles: 100_000 }

/** What stays in memory after many cycles on many names. */
export const heapLoad: Load = {
  id: 'heap/100000',
  ours: 'holdfast',
  floor: 'raw',
  rows: [{ id: 'heap/100000', metric: 'growth', unit: 'MB', better: 'lower' }],
  async run(bench) {
    const { heapRounds, peersAside } = bench.plan
    // The target is for ours alone, and 100 000 cycles take long.
    const names: ContenderName[] = peersAside ? ['raw', 'holdfast', ...bench.peers] : ['holdfast']
    return interleave(bench, { load: 'heap/100000', names, rounds: heapRounds }, async (contender) => {
      await bench.fleet.dismiss(contender)
      const [client] = await bench.open(contender)
      return { growth: (await client?.call<number>('heapGrowth', { ...wish })) ?? NaN }
    })
  },
}
