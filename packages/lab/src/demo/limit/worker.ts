/** One of the processes that ask whether the user may. */

import { serveWorker } from '../../servers/worker-side.ts'
import { sleep } from '../../wait.ts'
import { Log, now } from '../log.ts'
import type { StorePlace } from '../place.ts'
import { burstAtEdge } from './edge.ts'
import { AHEAD, DYING, Gate, keyOf, MINUTE } from './gate.ts'
import { openLimits } from './service.ts'
import { outcomeOf } from './traffic.ts'
import type { LimitHappening } from './traffic.ts'
import { limitVariants } from './variants/index.ts'
import type { LimitVariant } from './variants/index.ts'

/** Requests that come at once, as a page asks for many things. */
export interface Burst {
  /** When, in milliseconds of the log's clock. */
  readonly at: number
  readonly requests: number
}

const [lane, text] = process.argv.slice(2) as [string, string]
const place = JSON.parse(text) as StorePlace
// Whoever uses a file of SQLite is on one machine, with one clock.
const aheadBy = lane === AHEAD && place.store === 'redis' ? MINUTE : 0
const limits = openLimits(place, aheadBy)

serveWorker({
  /** Asks for all these requests, in one variant's way, and notes what becomes of them. */
  async ask(variant: LimitVariant, logFile: string, bursts: Burst[]): Promise<void> {
    const log = new Log<LimitHappening>(logFile, lane)
    const dies = lane === DYING
    const gate = new Gate({ limits, log, lane, dies })
    const mayPass = limitVariants[variant](gate)
    const askOnce = async () => {
      const sent = now()
      const outcome = await outcomeOf(mayPass)
      log.note(1, { what: 'decided', sent, outcome })
      if (dies) await gate.die()
    }
    await Promise.all(
      bursts.map(async ({ at, requests }) => {
        await sleep(at - now())
        await Promise.all(Array.from({ length: requests }, askOnce))
      }),
    )
  },

  /** PTTL of the user's key in a naive variant. */
  async pttl(variant: LimitVariant): Promise<number> {
    return limits.commands.pttl(keyOf(limits, variant))
  },

  async edge(logFile: string): Promise<number> {
    return burstAtEdge(limits.holdfast, logFile)
  },
})
