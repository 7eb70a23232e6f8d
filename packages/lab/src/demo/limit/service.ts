/** What limits are made with in a worker: Holdfast, and the bare commands for the naive variants. */

import type { Holdfast } from 'holdfast'
import { systemClock } from 'holdfast/testing'
import { openPlace } from '../place.ts'
import type { StorePlace } from '../place.ts'
import { redisCommands, sqliteCommands } from './commands.ts'
import type { LimitCommands } from './commands.ts'

export interface LimitService {
  readonly holdfast: Holdfast
  readonly commands: LimitCommands
  /** Starts every key. */
  readonly prefix: string
  /** What this process takes for the time, in milliseconds since 1970. */
  readonly clock: () => number
}

/** @param aheadBy how far this process's clock is ahead, in milliseconds. Holdfast gets the same clock */
export function openLimits(place: StorePlace, aheadBy: number): LimitService {
  const clock = () => Date.now() + aheadBy
  const open = openPlace(place, { clock: { ...systemClock, wall: clock } })
  const commands = open.store === 'redis' ? redisCommands(open.client) : sqliteCommands(open.database)
  return { holdfast: open.holdfast, commands, prefix: open.prefix, clock }
}
