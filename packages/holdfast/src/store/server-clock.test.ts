import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { ServerClock } from './server-clock.ts'

describe('what is known of the server clock', () => {
  test('is nothing at first, and nothing after a new connection', () => {
    const clock = new ServerClock(new VirtualClock())
    expect(clock.known).toBe(false)
    clock.saw(5_000)
    expect(clock.known).toBe(true)
    clock.forget()
    expect(clock.known).toBe(false)
  })

  test('goes on with our monotonic clock, whatever our wall clock does', () => {
    const ours = new VirtualClock({ monotonic: 100, wall: 0 })
    const clock = new ServerClock(ours)
    clock.saw(5_000)
    expect(clock.at(100)).toBe(5_000)
    ours.stepWall(3_600_000)
    ours.blockFor(250)
    expect(clock.at(ours.monotonic())).toBe(5_250)
    expect(clock.at(ours.monotonic() + 1_000)).toBe(6_250)
  })

  test('follows the newest reply, also when that server is behind', () => {
    const ours = new VirtualClock({ monotonic: 100 })
    const clock = new ServerClock(ours)
    clock.saw(5_000)
    ours.blockFor(10)
    clock.saw(4_000)
    expect(clock.at(110)).toBe(4_000)
  })

  test('is told in whole milliseconds, rounded to the early side', () => {
    const ours = new VirtualClock({ monotonic: 100 })
    const clock = new ServerClock(ours)
    clock.saw(5_000)
    expect(clock.at(100.9)).toBe(5_000)
    expect(clock.at(101.1)).toBe(5_001)
  })
})
