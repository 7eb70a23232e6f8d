import Database from 'better-sqlite3'
import { limitStoreContract, systemClock } from 'holdfast/testing'
import { sqliteStore } from 'holdfast/sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { systemBench } from './system-bench.ts'

describe.concurrent('limit store contract: sqlite', () => {
  const cases = limitStoreContract({
    setUp: async () => {
      const dir = mkdtempSync(join(tmpdir(), 'holdfast-contract-'))
      const file = join(dir, 'limits.db')
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
    keys: async ({ file }) =>
      keysIn(file, 'SELECT key FROM holdfast_limit WHERE expires_at > ?', systemClock.wall()),
    keysWithoutExpiry: async ({ file }) => {
      const endless = "SELECT key FROM TABLE WHERE typeof(expires_at) <> 'integer'"
      return ['holdfast_limit', 'holdfast_limit_reply'].flatMap((table) =>
        keysIn(file, endless.replace('TABLE', table)),
      )
    },
  })
  for (const { name, run } of cases) test(name, run)
})

/** What a query finds over a connection of its own. */
function keysIn(file: string, sql: string, ...parameters: unknown[]): string[] {
  const database = new Database(file)
  try {
    return database
      .prepare(sql)
      .all(...parameters)
      .map((row) => (row as { key: string }).key)
  } finally {
    database.close()
  }
}
