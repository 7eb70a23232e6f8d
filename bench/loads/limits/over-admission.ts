import { now } from '../../client/clock.ts'
import type { SpendWish, Spent } from '../../client/limits/spend.ts'
import type { LimitSpec } from '../../contenders/limits/limiter.ts'
import { interleave, PATIENCE_MS, withPatience } from '../../measurements.ts'
import { mostBeyond } from '../../over-admission.ts'
import { LEASING_PROCESSES } from '../../targets.ts'
import type { Load } from '../load.ts'

const LEASE = 100
const LIMIT = 1_000
/** As long as a lease lives: what was leased first has left the window when it is spent last. Milliseconds. */
const PER = 1_000
/** The server tells whole milliseconds apart, so that its window may be so much shorter by a finer clock. */
const CLOCK_STEP = 1
const limit: LimitSpec = { kind: 'window', limit: LIMIT, per: PER }

/** Until the processes begin; from there to the burst, which comes before the leases end; and how long that lasts. */
const LEAD = 60
const REST = 850
const BURST = 400

/**
 * How far leases go beyond a limit when they do their worst: every process takes a lease and uses one token of it. Shortly
 * before that leaves the window all spend what they hold and what the window has, and once it has left they fill that up too.
 */
export const overAdmissionLoad: Load = {
  id: 'limit/lease-100/over-admission',
  ours: 'holdfast limiter',
  floor: 'one script call',
  rows: [
    {
      id: 'limit/lease-100/over-admission',
      metric: 'beyond',
      unit: 'takes beyond the limit',
      better: 'lower',
    },
  ],
  async run(bench) {
    const { rounds } = bench.plan.limits
    const names = ['one script call', 'holdfast limiter'] as const
    const options = { count: LEASING_PROCESSES, lease: LEASE, patient: true }
    return interleave(bench, { load: 'limit/lease-100/over-admission', names, rounds }, async (limiter) => {
      const clients = await bench.openLimiter(limiter, [limit], options)
      const subject = bench.freshName()
      const firstAt = now() + LEAD
      const burstAt = firstAt + REST
      const wish: SpendWish = { subject, concurrency: 64, firstAt, burstAt, endAt: burstAt + BURST }
      const spending = clients.map((client) => client.call<Spent>('spend', { ...wish }))
      const spent = await withPatience(Promise.all(spending), LEAD + REST + BURST + PATIENCE_MS)
      const asked = spent.flatMap((each) => each.asked)
      const answered = spent.flatMap((each) => each.answered)
      if (asked.length < LIMIT) throw new Error(`only ${asked.length} passed: the limit was not reached`)
      return { beyond: mostBeyond({ asked, answered }, { limit: LIMIT, per: PER - CLOCK_STEP }) }
    })
  },
}
