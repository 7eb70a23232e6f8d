/** The store that a worker is told to use, over a connection of its own. */

import Database from 'better-sqlite3'
import type { Store } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { redisStore } from 'holdfast/redis'
import { sqliteStore } from 'holdfast/sqlite'
import { connectClient, connectCluster, type ClientKind, type ConnectedClient } from '../clients.ts'

/** A store, as a test names it to a worker. */
export type StoreName =
  | { readonly redis: string; readonly client?: ClientKind }
  | {
      readonly cluster: readonly { readonly host: string; readonly port: number }[]
      readonly client?: ClientKind
    }
  | { readonly sqlite: string }
  | { readonly memory: true }

export interface OpenedStore {
  readonly store: Store
  /** The client of a Redis server, if there is one. */
  readonly client: ConnectedClient | null
  /** Closes the connection. The store must not be used afterwards. */
  close(): void
}

/** Connects and gives the store. */
export async function openStore(name: StoreName): Promise<OpenedStore> {
  if ('redis' in name) {
    const client = await connectClient(name.client ?? 'ioredis', name.redis)
    return { store: redisStore(client.client), client, close: () => client.close() }
  }
  if ('cluster' in name) {
    const connected = await connectCluster(name.client ?? 'ioredis', name.cluster)
    return { store: redisStore(connected.client), client: null, close: () => connected.close() }
  }
  if ('sqlite' in name) {
    const database = new Database(name.sqlite)
    return { store: sqliteStore(database), client: null, close: () => database.close() }
  }
  return { store: memoryStore(), client: null, close: () => {} }
}
