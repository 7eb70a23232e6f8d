import { memoryStore } from 'holdfast/memory'
import { quorumStore } from 'holdfast/quorum'
import { lockStoreContract, seededRandomness, VirtualClock } from 'holdfast/testing'
import { describe, test } from 'vitest'

let benches = 0

describe.each([{ fence: false }, { fence: true }])(
  'lock store contract: quorum of three, $fence',
  ({ fence }) => {
    const make = (nodes = [memoryStore(), memoryStore(), memoryStore()]) =>
      quorumStore(nodes, { nodeBudget: '20ms', fence })
    const cases = lockStoreContract({
      traits: make().traits,
      setUp: async () => {
        const clock = new VirtualClock()
        const nodes = [memoryStore(), memoryStore(), memoryStore()]
        return {
          clock,
          randomness: seededRandomness((benches += 1)),
          prefix: 'contract:v1',
          unit: 100,
          connect: async () => make(nodes),
          pass: (ms) => clock.advance(ms),
          end: async () => {},
        }
      },
    })
    for (const { name, run } of cases) test(name, run)
  },
)
