/** Where locks and limits are kept, and how a worker gets there: with Holdfast, and with bare commands for naive variants. */

import Database from 'better-sqlite3'
import { createHoldfast } from 'holdfast'
import type { Holdfast, HoldfastOptions } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { sqliteStore } from 'holdfast/sqlite'
import { Redis } from 'ioredis'

/** It travels to the workers as JSON. `prefix` starts every key. */
export type StorePlace =
  | { readonly store: 'redis'; readonly url: string; readonly prefix: string }
  | { readonly store: 'sqlite'; readonly file: string; readonly prefix: string }

export type OpenPlace = { readonly holdfast: Holdfast; readonly prefix: string } & (
  | { readonly store: 'redis'; readonly client: Redis }
  | { readonly store: 'sqlite'; readonly database: Database.Database }
)

export function openPlace(place: StorePlace, options: Pick<HoldfastOptions, 'clock'> = {}): OpenPlace {
  const { prefix } = place
  if (place.store === 'redis') {
    const client = new Redis(place.url)
    // Whoever waits for an answer learns of it by the answer.
    client.on('error', () => {})
    const holdfast = createHoldfast({ ...options, store: redisStore(client), prefix })
    return { store: 'redis', prefix, holdfast, client }
  }
  // One connection each: Holdfast wants one of its own.
  const holdfast = createHoldfast({ ...options, store: sqliteStore(new Database(place.file)), prefix })
  const database = new Database(place.file)
  database.pragma('journal_mode = WAL')
  return { store: 'sqlite', prefix, holdfast, database }
}
