/** Two bursts around the edge of a fixed window, against a fixed and an exact window at once. */

import { fixedWindow, slidingWindow } from 'holdfast'
import type { Holdfast, Limiter } from 'holdfast'
import { sleep } from '../../wait.ts'
import { Log, now } from '../log.ts'
import { LIMIT, MINUTE, USER } from './gate.ts'
import { outcomeOf } from './traffic.ts'
import type { LimitHappening } from './traffic.ts'

export const EDGE_LANES = ['fixedWindow', 'slidingWindow'] as const

/** A burst begins or ends so long before or after the edge, in milliseconds. */
const NEAR = 0.06 * MINUTE
/** How long it takes, in milliseconds. */
const BURST = 0.2 * MINUTE
/** In how many groups it comes. */
const GROUPS = 10

/**
 * A hundred requests right before the edge and a hundred right after it. Every request asks both limiters.
 *
 * @returns when the edge was, in milliseconds of the log's clock
 */
export async function burstAtEdge(holdfast: Holdfast, logFile: string): Promise<number> {
  const limits = { limit: LIMIT, per: MINUTE }
  const [fixed, exact] = EDGE_LANES.map((lane) => {
    const policy = lane === 'fixedWindow' ? fixedWindow(limits) : slidingWindow(limits)
    return {
      limiter: holdfast.limiter(lane, policy, { budget: '2s' }),
      log: new Log<LimitHappening>(logFile, lane),
    }
  }) as [Asked, Asked]
  const edge = await nextEdge(fixed.limiter)
  await Promise.all(
    [edge - NEAR - BURST, edge + NEAR].flatMap((from) =>
      Array.from({ length: GROUPS }, async (_, group) => {
        await sleep(from + (group * BURST) / GROUPS - now())
        await Promise.all(Array.from({ length: LIMIT / GROUPS }, () => Promise.all([ask(fixed), ask(exact)])))
      }),
    ),
  )
  return edge
}

interface Asked {
  readonly limiter: Limiter
  readonly log: Log<LimitHappening>
}

async function ask({ limiter, log }: Asked): Promise<void> {
  const sent = now()
  const outcome = await outcomeOf(async () => (await limiter.take(USER)).allowed)
  log.note(1, { what: 'decided', sent, outcome })
}

/** The next edge before which there is room for a burst. Windows begin by the store's clock, so the store is asked. */
async function nextEdge(fixed: Limiter): Promise<number> {
  const { resetAfter } = await fixed.peek(USER)
  const edge = now() + resetAfter
  return resetAfter < 2 * NEAR + BURST ? edge + MINUTE : edge
}
