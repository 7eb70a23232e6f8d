import Database from 'better-sqlite3'
import { lockStoreContract } from 'holdfast/testing'
import { sqliteStore } from 'holdfast/sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { systemBench } from './system-bench.ts'

describe.concurrent('lock store contract: sqlite', () => {
  const cases = lockStoreContract({
    traits: { fences: 'clocked', wake: 'poll', clock: 'machine', durable: 'disk' },
    setUp: async () => {
      const dir = mkdtempSync(join(tmpdir(), 'holdfast-contract-'))
      const file = join(dir, 'locks.db')
      const connections: Database.Database[] = []
      return {
        ...systemBench(),
        file,
        connect: async () => {
          const database = new Database(file)
          connections.push(database)
          return sqliteStore(database)
        },
        end: async () => {
          for (const connection of connections) connection.close()
          rmSync(dir, { recursive: true })
        },
      }
    },
    remove: async ({ file }, key) => {
      behind(file, (database) => {
        for (const table of ['holdfast_lock', 'holdfast_last_fence', 'holdfast_queue']) {
          database.prepare(`DELETE FROM ${table} WHERE key = ?`).run(key)
        }
      })
    },
    keysWithoutExpiry: async ({ file }) =>
      behind(file, (database) => {
        const rows = database
          .prepare("SELECT key FROM holdfast_lock WHERE typeof(expires_at) <> 'integer'")
          .all()
        return rows.map((row) => (row as { key: string }).key)
      }),
  })
  for (const { name, run } of cases) test(name, run)
})

/** Works on the file over a connection of its own. */
function behind<T>(file: string, work: (database: Database.Database) => T): T {
  const database = new Database(file)
  try {
    return work(database)
  } finally {
    database.close()
  }
}
