import type { LimiterName } from '../../contenders/limits/index.ts'
import type { OpenLimiterOptions } from '../../contenders/limits/limiter.ts'
import { interleave } from '../../measurements.ts'
import type { Load } from '../load.ts'

const DECISIONS = 200

const limits: OpenLimiterOptions['limits'] = [
  { kind: 'bucket', capacity: 100_000, refill: 100_000, per: 1_000 },
  { kind: 'window', limit: 100_000, per: 60_000 },
  { kind: 'window', limit: 1_000_000, per: 86_400_000 },
]

/** What a client sends for a decision by three limits, one decision after another, counted by a proxy. */
export const limitCommandsLoad: Load = {
  id: 'limit/commands/three-limits',
  ours: 'holdfast limiter',
  floor: 'one script call',
  rows: [
    { id: 'limit/commands/three-limits', metric: 'commands', unit: 'commands/decision', better: 'lower' },
  ],
  async run(bench) {
    const proxy = await bench.proxy({ counts: true, delay: 0 })
    // Of the peers only this one has several limits.
    const peers = bench.limiterPeers.filter(
      (peer) => bench.plan.peersAside && peer === 'rate-limiter-flexible',
    )
    const names: LimiterName[] = ['one script call', 'holdfast limiter', ...peers]
    try {
      return await interleave(
        bench,
        { load: 'limit/commands/three-limits', names, rounds: 1 },
        async (limiter) => {
          const [client] = await bench.openLimiter(limiter, limits, { url: proxy.url, patient: true })
          const subject = bench.freshName()
          // Scripts are known to the server from here on.
          await client?.call('oneByOne', subject, 1)
          await proxy.reset()
          await client?.call('oneByOne', subject, DECISIONS)
          const { total } = await proxy.counts()
          return { commands: total / DECISIONS }
        },
      )
    } finally {
      await proxy.end()
    }
  },
}
