/**
 * The few commands that hand-written limits are made of, under their Redis names, on Redis or on a table of SQLite.
 * For the naive variants only: Holdfast brings its own.
 */

import type { Database } from 'better-sqlite3'
import type { Redis } from 'ioredis'
import { now } from '../log.ts'

export interface LimitCommands {
  /** INCR key: the count with this one. A new key has no expiry. */
  incr(key: string): Promise<number>
  /** PEXPIRE key ms. */
  pexpire(key: string, ms: number): Promise<void>
  /** PTTL key: milliseconds until it expires; -1: it never does, -2: it is not there. */
  pttl(key: string): Promise<number>
  /** GET key, as a count. */
  get(key: string): Promise<number>
  /** SET key count PX ms. */
  setPx(key: string, count: number, ms: number): Promise<void>
  /**
   * A script over a sorted set, atomic: drops what is older than `window`, counts, adds. All of it by the time that the caller
   * says it is. `null` where there is no such thing.
   */
  readonly addIfRoom: AddIfRoom | null
}

export interface Addition {
  readonly member: string
  /** The caller's time, in milliseconds since 1970. */
  readonly time: number
  readonly window: number
  readonly limit: number
}

/** Whether there was room. */
export type AddIfRoom = (key: string, addition: Addition) => Promise<boolean>

const ADD_IF_ROOM = `
  local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
  if redis.call('ZCARD', KEYS[1]) >= limit then return 0 end
  redis.call('ZADD', KEYS[1], now, ARGV[4])
  redis.call('PEXPIRE', KEYS[1], window)
  return 1`

export function redisCommands(client: Redis): LimitCommands {
  return {
    incr: (key) => client.incr(key),
    pexpire: async (key, ms) => void (await client.pexpire(key, ms)),
    pttl: (key) => client.pttl(key),
    get: async (key) => Number(await client.get(key)),
    setPx: async (key, count, ms) => void (await client.set(key, count, 'PX', ms)),
    addIfRoom: async (key, { member, time, window, limit }) =>
      (await client.eval(ADD_IF_ROOM, 1, key, time, window, limit, member)) === 1,
  }
}

/**
 * The same steps on a table; a row whose time is over counts as none. There is no script that trusts its callers' clocks:
 * whoever opens a file of SQLite is on one machine, with one clock.
 */
export function sqliteCommands(database: Database): LimitCommands {
  database.exec(
    'CREATE TABLE IF NOT EXISTS naive_limit (key TEXT PRIMARY KEY, count INTEGER, expires_at REAL)',
  )
  const increment = database.prepare(`
    INSERT INTO naive_limit (key, count) VALUES (:key, 1)
    ON CONFLICT (key) DO UPDATE SET
      count = CASE WHEN expires_at <= :now THEN 1 ELSE count + 1 END,
      expires_at = CASE WHEN expires_at <= :now THEN NULL ELSE expires_at END
    RETURNING count`)
  const expire = database.prepare('UPDATE naive_limit SET expires_at = ? WHERE key = ?')
  const select = database.prepare(
    'SELECT count, expires_at FROM naive_limit WHERE key = ? AND ifnull(expires_at > ?, 1)',
  )
  const write = database.prepare(
    'INSERT OR REPLACE INTO naive_limit (key, count, expires_at) VALUES (?, ?, ?)',
  )
  const read = (key: string) =>
    select.get(key, now()) as { count: number; expires_at: number | null } | undefined
  return {
    incr: async (key) => (increment.get({ key, now: now() }) as { count: number }).count,
    pexpire: async (key, ms) => void expire.run(now() + ms, key),
    pttl: async (key) => {
      const row = read(key)
      if (row === undefined) return -2
      return row.expires_at === null ? -1 : row.expires_at - now()
    },
    get: async (key) => read(key)?.count ?? 0,
    setPx: async (key, count, ms) => void write.run(key, count, now() + ms),
    addIfRoom: null,
  }
}
