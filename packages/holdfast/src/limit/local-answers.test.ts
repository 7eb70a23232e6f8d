import { expect, test } from 'vitest'
import { createHoldfast } from '../holdfast.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { tokenBucket } from './policies.ts'

test.each(['remembered denials', 'leased tokens'])(
  'calls that loop over %s leave the event loop to others',
  async (what) => {
    const denied = what === 'remembered denials'
    const hf = createHoldfast({ store: memoryStore() })
    const policy = denied
      ? tokenBucket({ capacity: 1, refill: 1, per: '1h' })
      : tokenBucket({ capacity: 1_000_000, refill: 1_000_000, per: '1h' })
    const limiter = hf.limiter('api', policy, denied ? {} : { lease: 100_000 })
    await limiter.take('u')
    await limiter.take('u')
    let turns = 0
    let going = true
    const turn = (): void => {
      turns += 1
      if (going) setImmediate(turn)
    }
    setImmediate(turn)
    let answers = 0
    const loop = async (): Promise<void> => {
      for (let i = 0; i < 1_000; i += 1) {
        await limiter.take('u')
        answers += 1
      }
    }
    await Promise.all(Array.from({ length: 20 }, loop))
    going = false
    expect(answers).toBe(20_000)
    // A few thousand answers a turn at most.
    expect(turns).toBeGreaterThanOrEqual(10)
    await hf.close()
  },
)
