import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Contender } from '../contenders/contender.ts'
import { pause } from './clock.ts'
import { runCount } from './cycles.ts'

export interface HeapWish {
  readonly concurrency: number
  readonly warmUpCycles: number
  readonly cycles: number
}

/** Longer than any bookkeeping of a finished cycle may stay. */
const SETTLE_MS = 300

/** By how many megabytes the heap has grown after so many cycles, garbage collected. */
export async function heapGrowth(contender: Contender, wish: HeapWish): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used = async (): Promise<number> => {
    await pause(SETTLE_MS)
    collect()
    collect()
    return process.memoryUsage().heapUsed
  }
  // Compiled code and grown buffers are no leak.
  await runCount(contender, wish.concurrency, wish.warmUpCycles)
  const before = await used()
  await runCount(contender, wish.concurrency, wish.cycles)
  return ((await used()) - before) / 1024 / 1024
}
