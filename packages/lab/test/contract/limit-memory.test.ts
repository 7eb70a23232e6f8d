import { memoryStore } from 'holdfast/memory'
import { limitStoreContract, seededRandomness, VirtualClock } from 'holdfast/testing'
import { describe, test } from 'vitest'

let benches = 0

describe('limit store contract: memory', () => {
  const cases = limitStoreContract({
    setUp: async () => {
      const clock = new VirtualClock()
      const store = memoryStore()
      return {
        clock,
        randomness: seededRandomness((benches += 1)),
        prefix: 'contract:v1',
        unit: 100,
        connect: async () => store,
        pass: (ms) => clock.advance(ms),
        end: async () => {},
      }
    },
  })
  for (const { name, run } of cases) test(name, run)
})
