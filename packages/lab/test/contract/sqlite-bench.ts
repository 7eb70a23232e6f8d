import Database from 'better-sqlite3'
import { sqliteStore } from 'holdfast/sqlite'
import type { LockStoreBench, OnceStoreBench } from 'holdfast/testing'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemBench } from './system-bench.ts'

/** A bench whose stores lie in one file, each over a connection of its own. */
export function sqliteBench(): LockStoreBench & OnceStoreBench & { readonly file: string } {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-contract-'))
  const file = join(dir, 'holdfast.db')
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
}

/** Works on the file behind the store's back, over a connection of its own. */
export function behind<T>(file: string, work: (database: Database.Database) => T): T {
  const database = new Database(file)
  try {
    return work(database)
  } finally {
    database.close()
  }
}

/** The keys that a query finds there. */
export function keysIn(file: string, sql: string, ...parameters: unknown[]): string[] {
  return behind(file, (database) =>
    database
      .prepare(sql)
      .all(...parameters)
      .map((row) => (row as { key: string }).key),
  )
}
