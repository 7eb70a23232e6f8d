import { Pool } from 'pg'
import postgres from 'postgres'
import { postgresStore, type PostgresStore, type PostgresStoreOptions } from 'holdfast/postgres'

/** The clients that the store takes. */
export const clientKinds = ['pg', 'postgres.js'] as const
export type ClientKind = (typeof clientKinds)[number]

/** A store over a client of its own. */
export interface ConnectedStore {
  readonly store: PostgresStore
  close(): Promise<void>
}

/**
 * Connects a client of some kind, with at most so many connections. `fetchTypes: false`: postgres.js asks nothing of its own when it
 * connects; ended in the midst of that it leaves a rejection that nobody handles.
 */
export function connectStore(
  kind: ClientKind,
  url: string,
  options: PostgresStoreOptions & { readonly max?: number; readonly fetchTypes?: boolean } = {},
): ConnectedStore {
  const { max = 4, fetchTypes = true, ...rest } = options
  if (kind === 'pg') {
    const pool = new Pool({ connectionString: url, max })
    return { store: postgresStore(pool, rest), close: () => pool.end() }
  }
  const sql = postgres(url, { max, fetch_types: fetchTypes, onnotice: () => undefined })
  return { store: postgresStore(sql, rest), close: () => sql.end({ timeout: 0 }) }
}
