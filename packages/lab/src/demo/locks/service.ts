/** What locks are made with in a worker: Holdfast, and the bare commands for the naive variants. */

import Database from 'better-sqlite3'
import { createHoldfast } from 'holdfast'
import type { Holdfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { sqliteStore } from 'holdfast/sqlite'
import { Redis } from 'ioredis'
import { redisCommands, sqliteCommands } from './commands.ts'
import type { LockCommands } from './commands.ts'

/** Where locks live. It travels to the workers as JSON. */
export type LockPlace =
  | { readonly store: 'redis'; readonly url: string; readonly prefix: string }
  | { readonly store: 'sqlite'; readonly file: string; readonly prefix: string }

export interface LockService {
  readonly holdfast: Holdfast
  readonly commands: LockCommands
  /** Starts every key. */
  readonly prefix: string
}

export function openLocks(place: LockPlace): LockService {
  const { prefix } = place
  if (place.store === 'redis') {
    const client = new Redis(place.url)
    // Whoever waits for an answer learns of it by the answer.
    client.on('error', () => {})
    const holdfast = createHoldfast({ store: redisStore(client), prefix })
    return { prefix, holdfast, commands: redisCommands(client) }
  }
  // One connection each: Holdfast wants one of its own.
  const holdfast = createHoldfast({ store: sqliteStore(new Database(place.file)), prefix })
  const database = new Database(place.file)
  database.pragma('journal_mode = WAL')
  return { prefix, holdfast, commands: sqliteCommands(database) }
}
