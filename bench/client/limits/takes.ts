import type { Limiter } from '../../contenders/limits/limiter.ts'
import { median } from '../../statistics.ts'
import { Samples } from './samples.ts'

export interface TakesWish {
  /** Of the subject, or what the names of many subjects begin with. */
  readonly subject: string
  /** How many subjects take turns. */
  readonly subjects: number
  /** How many loops take at once, each one after the other. */
  readonly concurrency: number
  /** Before the measurement, in milliseconds. */
  readonly warmUp: number
  /** How long is measured, in milliseconds. */
  readonly slice: number
}

export interface TakesResult {
  /** How many there were, the warm-up included. */
  readonly takes: number
  /** How many of them passed. */
  readonly passed: number
  /** Decisions a second. */
  readonly throughput: number
  /** Of a decision, in milliseconds. */
  readonly p50: number
  /** Of this process, user and system, a decision, in microseconds. */
  readonly cpu: number
}

/** Without a common divisor with any number of subjects that is used, so that all have their turn, in no order. */
const STRIDE = 7_919

/** A fresh process runs several times slower until its code is compiled. */
const WARM_UP_TAKES = 60_000

/** Decisions for a time, each loop asking again once it was answered. */
export async function runTakes(limiter: Limiter, wish: TakesWish): Promise<TakesResult> {
  const before = wish.warmUp > 0 ? await loops(limiter, wish, wish.warmUp) : null
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  const { times, passed } = await loops(limiter, wish, wish.slice)
  const took = performance.now() - began
  const { user, system } = process.cpuUsage(cpuBefore)
  return {
    takes: (before?.times.length ?? 0) + times.length,
    passed: (before?.passed ?? 0) + passed,
    throughput: times.length / (took / 1_000),
    p50: median(times.values()),
    cpu: (user + system) / times.length,
  }
}

/** So many decisions, one after the other. Gives how many passed. */
export async function takeOneByOne(limiter: Limiter, subject: string, takes: number): Promise<number> {
  let passed = 0
  for (let i = 0; i < takes; i += 1) if (limiter.allows(await limiter.take(subject, 1))) passed += 1
  return passed
}

/** Takes of a subject until it is denied. */
export async function exhaust(limiter: Limiter, subject: string): Promise<void> {
  while (limiter.allows(await limiter.take(subject, 1)));
}

/** As many as loops: many subjects that have a lease each would be busy giving them back afterwards. */
const WARM_SUBJECTS = 64

/** For a process that has run nothing yet. @param share of the usual number */
export async function warmUp(limiter: Limiter, share: number): Promise<void> {
  let left = share * WARM_UP_TAKES
  const loop = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      // Who cannot decide is found out when it is measured; here several processes may begin at the same time.
      await limiter.take(`warm:${left % WARM_SUBJECTS}`, 1).catch(() => undefined)
    }
  }
  await Promise.all(Array.from({ length: WARM_SUBJECTS }, loop))
}

/** How long each decision took, in milliseconds, and how many passed. */
async function loops(
  limiter: Limiter,
  { subject, subjects, concurrency }: TakesWish,
  ms: number,
): Promise<{ times: Samples; passed: number }> {
  const times = new Samples()
  let passed = 0
  let number = 0
  const end = performance.now() + ms
  const loop = async (): Promise<void> => {
    let began = performance.now()
    while (began < end) {
      number = (number + STRIDE) % subjects
      // A name is made each time, as a request brings it.
      if (limiter.allows(await limiter.take(`${subject}:${number}`, 1))) passed += 1
      const ended = performance.now()
      times.add(ended - began)
      began = ended
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
  return { times, passed }
}
