import { limitStoreContract, systemClock } from 'holdfast/testing'
import { describe, test } from 'vitest'
import { keysIn, sqliteBench } from './sqlite-bench.ts'

describe.concurrent('limit store contract: sqlite', () => {
  const cases = limitStoreContract({
    setUp: async () => sqliteBench(),
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
