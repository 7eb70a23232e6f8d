import { serveWorker } from '../../packages/lab/src/servers/worker-side.ts'
import { contenders, type ContenderName } from '../contenders/index.ts'
import type { Contender } from '../contenders/contender.ts'
import { runCycles, runOneByOne, warmUp, type CyclesWish } from './cycles.ts'
import { heapGrowth, type HeapWish } from './heap.ts'
import { Holds } from './holds.ts'
import { profiled } from './profiler.ts'
import { takeTurns, type TurnsWish } from './turns.ts'
import { drain, type DrainWish } from './drain.ts'

/** A client process of one contender. It measures; the parent says what, and when. */

export interface OpenWish {
  readonly contender: ContenderName
  readonly url: string
  readonly ttl: number
  readonly waiters: number
}

let contender: Contender | undefined
let holds: Holds | undefined

function opened(): Contender {
  if (contender === undefined) throw new Error('nothing is open')
  return contender
}

async function close(): Promise<void> {
  await contender?.close()
  contender = undefined
}

serveWorker({
  close,
  async open({ contender: name, ...options }: OpenWish) {
    await close()
    contender = await contenders[name].open(options)
  },
  prepare: (name: string) => opened().prepare?.(name),
  warmUp: (share: number) => warmUp(opened(), share),
  cycles: (wish: CyclesWish) => runCycles(opened(), wish),
  profiledCycles: (wish: CyclesWish, file: string) => profiled(file, () => runCycles(opened(), wish)),
  oneByOne: (cycles: number) => runOneByOne(opened(), cycles),
  turns: (wish: TurnsWish) => takeTurns(opened(), wish),
  profiledTurns: (wish: TurnsWish, file: string) => profiled(file, () => takeTurns(opened(), wish)),
  drain: (wish: DrainWish) => drain(opened(), wish),
  heapGrowth: (wish: HeapWish) => heapGrowth(opened(), wish),
  async hold(count: number) {
    holds = new Holds(opened())
    await holds.take(count)
  },
  countLost: () => holds?.countLost() ?? 0,
  letGo: () => holds?.letGo(),
})
