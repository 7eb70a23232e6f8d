import assert from 'node:assert/strict'
import { createHoldfast } from 'holdfast'

const holdfast = createHoldfast()
const fence = await holdfast.lock('order:1', { ttl: '5s' }).run(async (held) => {
  held.assertHeld()
  return held.fence
})
assert.equal(typeof fence, 'bigint')
await holdfast.close()
console.log('works')
