/** What locks are made with in a worker: Holdfast, and the bare commands for the naive variants. */

import type { Holdfast } from 'holdfast'
import { openPlace } from '../place.ts'
import type { StorePlace } from '../place.ts'
import { redisCommands, sqliteCommands } from './commands.ts'
import type { LockCommands } from './commands.ts'

export interface LockService {
  readonly holdfast: Holdfast
  readonly commands: LockCommands
  /** Starts every key. */
  readonly prefix: string
}

export function openLocks(place: StorePlace): LockService {
  const open = openPlace(place)
  const commands = open.store === 'redis' ? redisCommands(open.client) : sqliteCommands(open.database)
  return { prefix: open.prefix, holdfast: open.holdfast, commands }
}
