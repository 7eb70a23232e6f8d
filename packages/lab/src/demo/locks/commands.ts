/**
 * The few commands that hand-written locks are made of, under their Redis names, on Redis or on a table of SQLite.
 * For the naive variants only: Holdfast brings its own.
 */

import type { Database } from 'better-sqlite3'
import type { Redis } from 'ioredis'
import { now, type Log } from '../log.ts'

export interface LockCommands {
  /** SETNX key value: whether the key was not there and is now. It has no expiry. */
  setnx(key: string, value: string): Promise<boolean>
  /** PEXPIRE key ms. */
  pexpire(key: string, ms: number): Promise<void>
  /** SET key value NX PX ms: both in one step. */
  setNxPx(key: string, value: string, ms: number): Promise<boolean>
  /** GET key. */
  get(key: string): Promise<string | null>
  /** DEL key: whether there was something to delete, whoever it belonged to. */
  del(key: string): Promise<boolean>
}

export function redisCommands(client: Redis): LockCommands {
  return {
    setnx: async (key, value) => (await client.setnx(key, value)) === 1,
    pexpire: async (key, ms) => void (await client.pexpire(key, ms)),
    setNxPx: async (key, value, ms) => (await client.set(key, value, 'PX', ms, 'NX')) === 'OK',
    get: (key) => client.get(key),
    del: async (key) => (await client.del(key)) > 0,
  }
}

/** The same steps on a table; a row whose time is over counts as none. */
export function sqliteCommands(database: Database): LockCommands {
  database.exec('CREATE TABLE IF NOT EXISTS naive_lock (key TEXT PRIMARY KEY, value TEXT, expires_at REAL)')
  const insert = database.prepare(`
    INSERT INTO naive_lock (key, value, expires_at) VALUES (:key, :value, :expiresAt)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
    WHERE expires_at <= :now`)
  const expire = database.prepare('UPDATE naive_lock SET expires_at = ? WHERE key = ?')
  const select = database.prepare('SELECT value FROM naive_lock WHERE key = ? AND ifnull(expires_at > ?, 1)')
  const remove = database.prepare('DELETE FROM naive_lock WHERE key = ? AND ifnull(expires_at > ?, 1)')
  return {
    setnx: async (key, value) => insert.run({ key, value, expiresAt: null, now: now() }).changes > 0,
    pexpire: async (key, ms) => void expire.run(now() + ms, key),
    setNxPx: async (key, value, ms) =>
      insert.run({ key, value, expiresAt: now() + ms, now: now() }).changes > 0,
    get: async (key) => (select.get(key, now()) as { value: string } | undefined)?.value ?? null,
    del: async (key) => remove.run(key, now()).changes > 0,
  }
}

/** The same commands, with a note in the log of what came of each. */
export function logged(commands: LockCommands, log: Log, who: number): LockCommands {
  return {
    ...commands,
    setnx: async (key, value) => {
      const granted = await commands.setnx(key, value)
      if (granted) log.note(who, { what: 'granted', ttl: null })
      return granted
    },
    pexpire: async (key, ms) => {
      await commands.pexpire(key, ms)
      log.note(who, { what: 'expiry-set', ttl: ms })
    },
    setNxPx: async (key, value, ms) => {
      const granted = await commands.setNxPx(key, value, ms)
      if (granted) log.note(who, { what: 'granted', ttl: ms })
      return granted
    },
    del: async (key) => {
      const sent = now()
      const found = await commands.del(key)
      log.note(who, { what: 'deleted', sent, found })
      return found
    },
  }
}
