import { createHoldfast, isHoldfastError, LockTimeoutError } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { redisStore } from 'holdfast/redis'
import { sqliteStore } from 'holdfast/sqlite'
import * as testing from 'holdfast/testing'

const holdfast = createHoldfast({ store: memoryStore() })
const lock = holdfast.lock('order:1', { ttl: '5s', wait: 0 })
const fence: bigint = await lock.run(async (held) => {
  held.assertHeld()
  const signal: AbortSignal = held.signal
  if (signal.aborted) throw new Error('lost')
  return held.fence
})
if (typeof fence !== 'bigint') throw new Error('no fence')

await lock.run(async () => {
  const error: unknown = await holdfast
    .lock('order:1')
    .acquire({ wait: 0 })
    .catch((reason: unknown) => reason)
  if (!isHoldfastError(error) || !(error instanceof LockTimeoutError)) throw new Error('not refused')
})

// @ts-expect-error a duration is a number or text
void (() => holdfast.lock('order:1', { ttl: true }))

if (typeof redisStore !== 'function' || typeof sqliteStore !== 'function')
  throw new Error('a store is missing')
if (Object.keys(testing).length === 0) throw new Error('testing is empty')
await holdfast.close()
console.log('works')
