import { sleep } from '../../packages/lab/src/index.ts'
import { interleave } from '../measurements.ts'
import type { Load } from './load.ts'

const LOCKS = 5_000
const TTL = 3_000
/** Both renew at a third of the ttl. */
const PERIOD = TTL / 3
const PERIODS = 2

/** What holding many locks costs the server, counted by a proxy. */
export const renewLoad: Load = {
  id: 'renew/5000',
  ours: 'holdfast',
  floor: null,
  rows: [{ id: 'renew/5000', metric: 'calls', unit: 'script calls/period', better: 'lower' }],
  async run(bench) {
    const proxy = await bench.proxy({ counts: true, delay: 0 })
    // Of the peers only this one renews what was taken by a plain acquire.
    const peers = bench.peers.filter((peer) => bench.plan.peersAside && peer === 'redis-semaphore')
    try {
      return await interleave(
        bench,
        { load: 'renew/5000', names: ['holdfast', ...peers], rounds: 1 },
        async (contender) => {
          const [client] = await bench.open(contender, { url: proxy.url, ttl: TTL })
          await client?.call('hold', LOCKS)
          await sleep(PERIOD)
          await proxy.reset()
          await sleep(PERIOD * PERIODS)
          const { byName } = await proxy.counts()
          const lost = await client?.call<number>('countLost')
          await client?.call('letGo')
          if (lost !== 0) throw new Error(`${lost} of ${LOCKS} locks were lost`)
          return { calls: ((byName['EVALSHA'] ?? 0) + (byName['EVAL'] ?? 0)) / PERIODS }
        },
      )
    } finally {
      await proxy.end()
    }
  },
}
