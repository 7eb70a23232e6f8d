import { interleave } from '../../measurements.ts'
import type { Load } from '../load.ts'

const CALLERS = 1_000
const ID = `once/commands/${CALLERS}-callers`

/** What a client sends for so many callers of one key at once, counted by a proxy. By hand each asks for itself, so there is no floor. */
export const singleFlightLoad: Load = {
  id: ID,
  ours: 'holdfast idempotency',
  floor: null,
  rows: [{ id: ID, metric: 'commands', unit: 'commands', better: 'lower' }],
  async run(bench) {
    const proxy = await bench.proxy({ counts: true, delay: 0 })
    const names = ['holdfast idempotency'] as const
    try {
      return await interleave(bench, { load: ID, names, rounds: 1 }, async (once) => {
        const client = await bench.openOnce(once, proxy.url)
        // Scripts are known to the server from here on.
        await client.call('burst', bench.freshName(), 1)
        await proxy.reset()
        await client.call('burst', bench.freshName(), CALLERS)
        const { total } = await proxy.counts()
        return { commands: total }
      })
    } finally {
      await proxy.end()
    }
  },
}
