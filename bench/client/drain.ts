import type { Contender } from '../contenders/contender.ts'
import { now, until } from './clock.ts'

export interface DrainWish {
  readonly name: string
  readonly waiters: number
  /** Whether this process has the name first, and gives it back at `releaseAt`. */
  readonly holds: boolean
  /** When the waiters come, by `now`. The holder has it before. */
  readonly startAt: number
  /** When the holder gives it back, by `now`. */
  readonly releaseAt: number
}

/** When the last waiter of this process had it and had given it back, and (of the holder) when that began. */
export interface DrainResult {
  readonly began: number | null
  readonly ended: number
}

/** Each waiter has the name once. */
export async function drain(contender: Contender, wish: DrainWish): Promise<DrainResult> {
  const { name, waiters, holds, startAt, releaseAt } = wish
  const held = holds ? await contender.acquire(name) : null
  if (holds && now() > startAt) throw new Error('the name was not to be had before the waiters came')
  await until(startAt)
  const turns = Array.from({ length: waiters }, async () => contender.release(await contender.acquire(name)))
  let began: number | null = null
  if (holds) {
    await until(releaseAt)
    began = now()
    await contender.release(held)
  }
  await Promise.all(turns)
  return { began, ended: now() }
}
