import { expect, test } from 'vitest'
import { bounds } from './defaults.ts'
import { Pauses } from './pauses.ts'
import { VirtualClock } from './testing/virtual-clock.ts'

/** Goal: what pauses in the background does not hold up the end of everything. Method: a virtual clock. */

/** Begins a pause; gives when it ended. */
function paused(pauses: Pauses, clock: VirtualClock, ms: number): () => number | null {
  let at: number | null = null
  void pauses.pause(ms).then(() => (at = clock.monotonic()))
  return () => at
}

test('a pause lasts as long as it was asked for, and the process does not stay alive for it', async () => {
  const clock = new VirtualClock()
  const began = clock.monotonic()
  const ended = paused(new Pauses(clock), clock, 5_000)
  expect([clock.pendingTimers, clock.keepAliveTimers]).toEqual([1, 0])
  await clock.advance(4_999)
  expect(ended()).toBeNull()
  await clock.advance(1)
  expect(ended()).toBe(began + 5_000)
})

test('in a hurry those that there are end at once, and those to come are short', async () => {
  const clock = new VirtualClock()
  const began = clock.monotonic()
  const pauses = new Pauses(clock)
  const early = [paused(pauses, clock, 5_000), paused(pauses, clock, 10)]
  pauses.hurry()
  await clock.settle()
  expect(early.map((ended) => ended())).toEqual([began, began])
  expect(clock.pendingTimers).toBe(0)

  const late = [paused(pauses, clock, 5_000), paused(pauses, clock, 10)]
  await clock.advance(bounds.pauseBetweenTries)
  expect(late.map((ended) => ended())).toEqual([began + bounds.pauseBetweenTries, began + 10])
})
