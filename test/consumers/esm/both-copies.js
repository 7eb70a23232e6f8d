import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import * as esm from 'holdfast'

/** @type {typeof esm} */
const cjs = createRequire(import.meta.url)('holdfast')
assert.notEqual(esm.createHoldfast, cjs.createHoldfast, 'two copies are loaded')

for (const [thrower, judge] of [
  [esm, cjs],
  [cjs, esm],
]) {
  const holdfast = thrower.createHoldfast()
  let error
  try {
    holdfast.lock('order:1', { ttl: 0 })
  } catch (thrown) {
    error = thrown
  }
  assert.ok(judge.isHoldfastError(error), 'the guard of the other copy knows the error')
  assert.ok(error instanceof judge.HoldfastError)
  assert.ok(error instanceof judge.InvalidArgumentError)
  assert.ok(!(error instanceof judge.LockTimeoutError))
  assert.ok(!judge.isHoldfastError(new Error('not ours')))
  await holdfast.close()
}

// Locks of the two copies do their work side by side.
const [one, other] = [esm.createHoldfast(), cjs.createHoldfast()]
const both = await Promise.all(
  [one, other].map((holdfast) => holdfast.lock('order:1').run(async (held) => held.fence)),
)
assert.equal(both.length, 2)
await Promise.all([one.close(), other.close()])
console.log('works')
