import type { Once } from '../../contenders/once/once.ts'
import { median } from '../../statistics.ts'
import { Samples } from '../limits/samples.ts'

export interface RunsWish {
  /** What all keys begin with; none was used before. */
  readonly prefix: string
  /** Whether each key is new, or one that is done. */
  readonly kind: 'first' | 'replay'
  /** How many loops call at once, each one after the other. */
  readonly concurrency: number
  /** Before the measurement, in milliseconds. */
  readonly warmUp: number
  /** How long is measured, in milliseconds. */
  readonly slice: number
}

export interface RunsResult {
  /** Calls a second. */
  readonly throughput: number
  /** Of a call, in milliseconds. */
  readonly p50: number
}

/** A fresh process runs several times slower until its code is compiled. */
const WARM_UP_RUNS = 30_000
const WARM_UP_AT_ONCE = 64

/** For a process that has run nothing yet. @param share of the usual number */
export async function warmUp(once: Once, share: number): Promise<void> {
  let left = share * WARM_UP_RUNS
  const loop = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const key = `warm:${process.pid}:${left}`
      await once.first(key)
      await once.replay(key)
    }
  }
  await Promise.all(Array.from({ length: WARM_UP_AT_ONCE }, loop))
}

/** Calls for a time, each loop calling again once it was answered. */
export async function runRuns(once: Once, wish: RunsWish): Promise<RunsResult> {
  const { prefix, kind, warmUp: warm, slice } = wish
  if (kind === 'replay') await once.first(`${prefix}:0`)
  if (warm > 0)
    await loops(once, { ...wish, prefix: `${prefix}:warm` }, kind === 'replay' ? prefix : null, warm)
  const began = performance.now()
  const times = await loops(once, wish, kind === 'replay' ? prefix : null, slice)
  const took = performance.now() - began
  return { throughput: times.length / (took / 1_000), p50: median(times.values()) }
}

/** @param done the prefix of a key that is done, where that is called for */
async function loops(
  once: Once,
  { prefix, concurrency }: RunsWish,
  done: string | null,
  ms: number,
): Promise<Samples> {
  const times = new Samples()
  let number = 0
  const end = performance.now() + ms
  const loop = async (): Promise<void> => {
    let began = performance.now()
    while (began < end) {
      number += 1
      const answer = await (done === null ? once.first(`${prefix}:${number}`) : once.replay(`${done}:0`))
      if (!once.isOutcome(answer)) throw new Error('that is not what the work gave')
      const ended = performance.now()
      times.add(ended - began)
      began = ended
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
  return times
}

/** So many callers of one new key at once. */
export async function burst(once: Once, key: string, callers: number): Promise<void> {
  const answers = await Promise.all(Array.from({ length: callers }, () => once.first(key)))
  if (!answers.every((answer) => once.isOutcome(answer))) throw new Error('not all have the outcome')
}
