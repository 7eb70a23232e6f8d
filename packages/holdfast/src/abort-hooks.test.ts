import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { LockBench } from './testing/lock-bench.ts'
import { AbortHooks } from './abort-hooks.ts'

test('a signal has one listener, however many wait for it, and none when they are gone', () => {
  const { signal } = new AbortController()
  const hooks = new AbortHooks()
  const removals = Array.from({ length: 50 }, () => hooks.add(signal, () => undefined))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  for (const remove of removals) remove()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('each is called once, in order, but for those that were taken out, also by one before', () => {
  const controller = new AbortController()
  const hooks = new AbortHooks()
  const called: number[] = []
  const removals = [0, 1, 2, 3].map((n) =>
    hooks.add(controller.signal, () => {
      called.push(n)
      removals[2]?.()
    }),
  )
  removals[1]?.()
  controller.abort()
  for (const remove of removals) remove()
  expect(called).toEqual([0, 3])
})

test('a signal of all calls of a process: Node warns of no leak, and all reject when it aborts', async () => {
  const bench = new LockBench()
  await bench.other.lock('a').acquire()
  const controller = new AbortController()
  const waiting = Array.from({ length: 50 }, () => bench.hf.lock('a').acquire({ signal: controller.signal }))
  const ends = waiting.map((each) => each.catch((error: unknown) => error))
  await bench.clock.advance(100)
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
  controller.abort('enough')
  expect(new Set(await Promise.all(ends))).toEqual(new Set(['enough']))
})
