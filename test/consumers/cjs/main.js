const assert = require('node:assert/strict')
const { createHoldfast } = require('holdfast')

async function main() {
  const holdfast = createHoldfast()
  const fence = await holdfast.lock('order:1', { ttl: '5s' }).run(async (held) => {
    held.assertHeld()
    return held.fence
  })
  assert.equal(typeof fence, 'bigint')
  await holdfast.close()
  console.log('works')
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
