import { interleave } from '../measurements.ts'
import type { Load } from './load.ts'

const CYCLES = 200

/** What a client sends for one cycle after another, counted by a proxy. */
export const commandsLoad: Load = {
  id: 'commands/1',
  ours: 'holdfast',
  floor: 'raw',
  rows: [{ id: 'commands/1', metric: 'commands', unit: 'commands/cycle', better: 'lower' }],
  async run(bench) {
    const proxy = await bench.proxy({ counts: true, delay: 0 })
    const names = ['raw', 'holdfast', ...bench.peers] as const
    try {
      return await interleave(bench, { load: 'commands/1', names, rounds: 1 }, async (contender) => {
        const [client] = await bench.open(contender, { url: proxy.url })
        // Scripts are known to the server from here on.
        await client?.call('oneByOne', 1)
        await proxy.reset()
        await client?.call('oneByOne', CYCLES)
        const { total } = await proxy.counts()
        return { commands: total / CYCLES }
      })
    } finally {
      await proxy.end()
    }
  },
}
