import type { Limiter } from '../../contenders/limits/limiter.ts'
import { now, pause, until } from '../clock.ts'

export interface SpendWish {
  readonly subject: string
  readonly concurrency: number
  /** Times by `now`. One take at the first; as many as pass from the second to the third. */
  readonly firstAt: number
  readonly burstAt: number
  readonly endAt: number
}

/** Those that passed: when each was asked, and when its answer was there. */
export interface Spent {
  readonly asked: readonly number[]
  readonly answered: readonly number[]
}

/** Who is denied comes again this much later, in milliseconds. */
const COME_AGAIN = 1

/** Uses little for a while and then everything at once: what was held back in advance comes on top of all the rest. */
export async function spend(limiter: Limiter, wish: SpendWish): Promise<Spent> {
  const { subject, concurrency, firstAt, burstAt, endAt } = wish
  const asked: number[] = []
  const answered: number[] = []
  const take = async (): Promise<boolean> => {
    const before = now()
    const passes = limiter.allows(await limiter.take(subject, 1))
    if (passes) {
      asked.push(before)
      answered.push(now())
    }
    return passes
  }
  await until(firstAt)
  await take()
  await until(burstAt)
  const loop = async (): Promise<void> => {
    while (now() < endAt) if (!(await take())) await pause(COME_AGAIN)
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
  return { asked, answered }
}
