import { onceStoreContract } from 'holdfast/testing'
import { describe, test } from 'vitest'
import { behind, keysIn, sqliteBench } from './sqlite-bench.ts'

describe.concurrent('once store contract: sqlite', () => {
  const cases = onceStoreContract({
    setUp: async () => sqliteBench(),
    remove: async ({ file }, key) => {
      behind(file, (database) => database.prepare('DELETE FROM holdfast_once WHERE key = ?').run(key))
    },
    keysWithoutExpiry: async ({ file }) =>
      keysIn(file, "SELECT key FROM holdfast_once WHERE typeof(expires_at) <> 'integer'"),
  })
  for (const { name, run } of cases) test(name, run)
})
