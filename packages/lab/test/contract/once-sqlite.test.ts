import Database from 'better-sqlite3'
import { sqliteStore } from 'holdfast/sqlite'
import { onceStoreContract } from 'holdfast/testing'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { systemBench } from './system-bench.ts'

describe.concurrent('once store contract: sqlite', () => {
  const cases = onceStoreContract({
    setUp: async () => {
      const dir = mkdtempSync(join(tmpdir(), 'holdfast-contract-'))
      const file = join(dir, 'once.db')
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
      over(file, (database) => database.prepare('DELETE FROM holdfast_once WHERE key = ?').run(key))
    },
    keysWithoutExpiry: async ({ file }) =>
      over(file, (database) =>
        database.prepare("SELECT key FROM holdfast_once WHERE typeof(expires_at) <> 'integer'").pluck().all(),
      ) as string[],
  })
  for (const { name, run } of cases) test(name, run)
})

/** Does something over a connection of its own. */
function over<R>(file: string, run: (database: Database.Database) => R): R {
  const database = new Database(file)
  try {
    return run(database)
  } finally {
    database.close()
  }
}
