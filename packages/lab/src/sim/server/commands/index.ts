import type { Command } from '../command.ts'
import { collections } from './collections.ts'
import { keys } from './keys.ts'
import { sortedSets } from './sorted-sets.ts'
import { strings } from './strings.ts'

/** All commands that need no more than the data. Names in capitals. */
export const commands: ReadonlyMap<string, Command> = new Map(
  Object.entries({ ...strings, ...keys, ...sortedSets, ...collections }),
)
