import { writeFileSync } from 'node:fs'
import type { Contender } from '../contenders/contender.ts'
import { TurnLog } from '../turn-log.ts'
import { now, pause, until } from './clock.ts'

export interface TurnsWish {
  /** The one name that all want. */
  readonly name: string
  /** How many of this process want it at once, again and again. */
  readonly waiters: number
  /** How long each holds it, in milliseconds, without using the processor. */
  readonly work: number
  /** When all processes begin, by `now`. */
  readonly startAt: number
  /** Nobody asks again after this. */
  readonly stopAt: number
  /** Where the turns are written. */
  readonly file: string
}

/** Waiters that take turns at one name, and a log of who had it from when to when. */
export async function takeTurns(contender: Contender, wish: TurnsWish): Promise<void> {
  const { name, work, startAt, stopAt } = wish
  const log = new TurnLog()
  const waiter = async (_: unknown, number: number): Promise<void> => {
    for (;;) {
      const held = await contender.acquire(name)
      const from = now()
      if (work > 0) await pause(work)
      const to = now()
      log.add(number, from, to)
      await contender.release(held)
      if (to >= stopAt) return
    }
  }
  await until(startAt)
  await Promise.all(Array.from({ length: wish.waiters }, waiter))
  writeFileSync(wish.file, log.bytes())
}
