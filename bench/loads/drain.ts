import { now } from '../client/clock.ts'
import type { DrainResult, DrainWish } from '../client/drain.ts'
import { interleave, PATIENCE_MS, withPatience } from '../measurements.ts'
import type { Load } from './load.ts'

const PROCESSES = 4
const WAITERS = 1_000
/** Until the waiters come, and then until the holder gives the name back: all of them wait by then. */
const LEAD = 200
const HOLD = 400

/** A held name that many wait for: from the moment it is given back until each of them has had it. */
export const drainLoad: Load = {
  id: 'drain/1000',
  ours: 'holdfast',
  floor: 'blocking pop',
  rows: [{ id: 'drain/1000', metric: 'total', unit: 'ms', better: 'lower' }],
  async run(bench) {
    const names = ['blocking pop', 'holdfast', ...bench.peers] as const
    const each = WAITERS / PROCESSES
    return interleave(
      bench,
      { load: 'drain/1000', names, rounds: bench.plan.drainRounds },
      async (contender) => {
        const clients = await bench.open(contender, { count: PROCESSES, waiters: each + 1 })
        const [first] = clients
        const name = bench.freshName()
        await first?.call('prepare', name)
        const startAt = now() + LEAD
        const drained = clients.map((client, i) => {
          const wish: DrainWish = { name, waiters: each, holds: i === 0, startAt, releaseAt: startAt + HOLD }
          return client.call<DrainResult>('drain', { ...wish })
        })
        const results = await withPatience(Promise.all(drained), PATIENCE_MS)
        await Promise.all(clients.map((client) => client.call('close')))
        const began = results[0]?.began ?? NaN
        return { total: Math.max(...results.map(({ ended }) => ended)) - began }
      },
    )
  },
}
