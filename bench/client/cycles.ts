import type { Contender } from '../contenders/contender.ts'
import { median } from '../statistics.ts'

export interface CyclesWish {
  /** How many loops acquire and release at once, each on names of its own. */
  readonly concurrency: number
  /** Before the measurement, in milliseconds. */
  readonly warmUp: number
  /** How long is measured, in milliseconds. */
  readonly slice: number
}

export interface CyclesResult {
  /** How many there were, the warm-up included. */
  readonly cycles: number
  /** A second. */
  readonly throughput: number
  /** Of acquire and release together, in milliseconds. */
  readonly p50: number
  /** Of this process, user and system, a cycle, in microseconds. */
  readonly cpu: number
}

/** Names are used once, so that nothing remembered by name makes a contender look fast. */
let lastName = 0

/** Uncontended cycles of acquire and release for a time. */
export async function runCycles(contender: Contender, wish: CyclesWish): Promise<CyclesResult> {
  const { concurrency, warmUp, slice } = wish
  const before = warmUp > 0 ? (await loops(contender, concurrency, warmUp)).length : 0
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  const times = await loops(contender, concurrency, slice)
  const took = performance.now() - began
  const { user, system } = process.cpuUsage(cpuBefore)
  return {
    cycles: before + times.length,
    throughput: times.length / (took / 1_000),
    p50: median(times),
    cpu: (user + system) / times.length,
  }
}

/** So many cycles, one after the other, for those who count what is sent. */
export async function runOneByOne(contender: Contender, cycles: number): Promise<void> {
  for (let i = 0; i < cycles; i += 1) {
    await contender.release(await contender.acquire(`one:${(lastName += 1)}`))
  }
}

/** So many cycles in all, by so many loops. */
export async function runCount(contender: Contender, concurrency: number, cycles: number): Promise<void> {
  let left = cycles
  const loop = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      await contender.release(await contender.acquire(`order:${(lastName += 1)}`))
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
}

/** A fresh process runs several times slower until its code is compiled. */
const WARM_UP_CYCLES = 60_000

/** Uncontended cycles for a process that has run nothing yet. @param share of the usual number */
export async function warmUp(contender: Contender, share: number): Promise<void> {
  // What must be prepared by name has no cycles on names of its own.
  if (contender.prepare === undefined) await runCount(contender, 64, share * WARM_UP_CYCLES)
}

/** How long each cycle took, in milliseconds. */
async function loops(contender: Contender, concurrency: number, ms: number): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + ms
  const loop = async (): Promise<void> => {
    let began = performance.now()
    while (began < end) {
      const held = await contender.acquire(`order:${(lastName += 1)}`)
      await contender.release(held)
      const ended = performance.now()
      times.push(ended - began)
      began = ended
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
  return times
}
