import { expect, test } from 'vitest'
import { notBefore, type Clock } from './clock.ts'
import { VirtualClock } from './testing/virtual-clock.ts'

/** A clock whose timers come 3 ms early. */
class HastyClock extends VirtualClock {
  override setTimer(run: () => void, ms: number, options?: Parameters<Clock['setTimer']>[2]) {
    return super.setTimer(run, Math.max(0, ms - 3), options)
  }
}

test('notBefore waits for its time also where timers come early, and can be cancelled in between', async () => {
  const clock = new HastyClock()
  const at = clock.monotonic() + 50
  const called: number[] = []
  notBefore(clock, at, () => called.push(clock.monotonic()))
  const other = notBefore(clock, at, () => called.push(-1))
  await clock.advance(48)
  expect(called).toEqual([])
  other.cancel()
  await clock.advance(2)
  expect(called).toEqual([at])
})
