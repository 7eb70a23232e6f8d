import { lockStoreContract } from 'holdfast/testing'
import { describe, test } from 'vitest'
import { behind, keysIn, sqliteBench } from './sqlite-bench.ts'

describe.concurrent('lock store contract: sqlite', () => {
  const cases = lockStoreContract({
    traits: { fences: 'clocked', wake: 'poll', clock: 'machine', durable: 'disk' },
    setUp: async () => sqliteBench(),
    remove: async ({ file }, key) => {
      behind(file, (database) => {
        for (const table of ['holdfast_lock', 'holdfast_last_fence', 'holdfast_queue']) {
          database.prepare(`DELETE FROM ${table} WHERE key = ?`).run(key)
        }
      })
    },
    keysWithoutExpiry: async ({ file }) =>
      keysIn(file, "SELECT key FROM holdfast_lock WHERE typeof(expires_at) <> 'integer'"),
  })
  for (const { name, run } of cases) test(name, run)
})
