import { serveWorker } from '../../../packages/lab/src/servers/worker-side.ts'
import { limiters, type LimiterName } from '../../contenders/limits/index.ts'
import type { Limiter, OpenLimiterOptions } from '../../contenders/limits/limiter.ts'
import { profiled } from '../profiler.ts'
import { fill, type FillWish } from './fill.ts'
import { spend, type SpendWish } from './spend.ts'
import { exhaust, runTakes, takeOneByOne, warmUp, type TakesWish } from './takes.ts'

/** A client process of one limiter. It measures; the parent says what, and when. */

export interface OpenLimiterWish extends OpenLimiterOptions {
  readonly limiter: LimiterName
}

let limiter: Limiter | undefined

function opened(): Limiter {
  if (limiter === undefined) throw new Error('nothing is open')
  return limiter
}

async function close(): Promise<void> {
  await limiter?.close()
  limiter = undefined
}

serveWorker({
  close,
  async open({ limiter: name, ...options }: OpenLimiterWish) {
    await close()
    limiter = await limiters[name].open(options)
  },
  warmUp: (share: number) => warmUp(opened(), share),
  takes: (wish: TakesWish) => runTakes(opened(), wish),
  profiledTakes: (wish: TakesWish, file: string) => profiled(file, () => runTakes(opened(), wish)),
  exhaust: (subject: string) => exhaust(opened(), subject),
  oneByOne: (subject: string, takes: number) => takeOneByOne(opened(), subject, takes),
  fill: (wish: FillWish) => fill(opened(), wish),
  spend: (wish: SpendWish) => spend(opened(), wish),
})
