import type { Database } from 'better-sqlite3'

/**
 * A unique constraint: the database itself knows what may be there once. For whatever has a natural key: one seat for each user, one
 * payment for each order, one row for each message that was handled.
 *
 * It is the last line of defence beside every lock: it holds when the lock failed, when somebody forgot it, and for scripts by hand.
 *
 * @returns whether this call was the first
 */
export function register(database: Database, event: string, user: string): boolean {
  const insert = 'INSERT INTO seats (event, user) VALUES (?, ?) ON CONFLICT (event, user) DO NOTHING'
  return database.prepare(insert).run(event, user).changes === 1
}
