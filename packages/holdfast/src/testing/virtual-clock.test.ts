import { describe, expect, test } from 'vitest'
import { VirtualClock } from './virtual-clock.ts'

describe('VirtualClock', () => {
  test('time stands still until it is told to pass, on both clocks', async () => {
    const clock = new VirtualClock({ monotonic: 10, wall: 5_000 })
    expect([clock.monotonic(), clock.wall()]).toEqual([10, 5_000])
    await clock.advance(7)
    expect([clock.monotonic(), clock.wall()]).toEqual([17, 5_007])
  })

  test('timers run when they are due, in order, and at their own time', async () => {
    const clock = new VirtualClock({ monotonic: 0 })
    const seen: string[] = []
    const note = (what: string) => () => seen.push(`${what}@${clock.monotonic()}`)
    clock.setTimer(note('late'), 30)
    clock.setTimer(note('first'), 10)
    clock.setTimer(note('second'), 10)
    clock.setTimer(note('never'), 20).cancel()
    await clock.advance(29)
    expect(seen).toEqual(['first@10', 'second@10'])
    await clock.advance(1)
    expect(seen).toEqual(['first@10', 'second@10', 'late@30'])
  })

  test('awaited work that a timer sets off goes on before the next timer', async () => {
    const clock = new VirtualClock({ monotonic: 0 })
    const seen: string[] = []
    clock.setTimer(() => {
      void (async () => {
        for (let i = 0; i < 5; i += 1) await new Promise<void>((resolve) => clock.endOfTurn(resolve))
        seen.push('work')
        clock.setTimer(() => seen.push('follow-up'), 5)
      })()
    }, 10)
    clock.setTimer(() => seen.push('next'), 11)
    await clock.advance(20)
    expect(seen).toEqual(['work', 'next', 'follow-up'])
  })

  test('a blocked event loop runs no timer, the next turn runs what fell due', async () => {
    const clock = new VirtualClock({ monotonic: 0 })
    let ran = 0
    clock.setTimer(() => (ran += 1), 10)
    clock.blockFor(50)
    expect([clock.monotonic(), ran]).toEqual([50, 0])
    await clock.advance(0)
    expect([clock.monotonic(), ran]).toEqual([50, 1])
  })

  test('the wall clock is stepped, or the machine sleeps, without the monotonic one', () => {
    const clock = new VirtualClock({ monotonic: 0, wall: 1_000_000 })
    clock.stepWall(-400)
    clock.asleepFor(50)
    expect([clock.monotonic(), clock.wall()]).toEqual([0, 999_650])
  })

  test('timers that are left over are counted', async () => {
    const clock = new VirtualClock()
    const kept = clock.setTimer(() => {}, 10, { keepAlive: true })
    clock.setTimer(() => {}, 20)
    expect([clock.pendingTimers, clock.keepAliveTimers]).toEqual([2, 1])
    kept.cancel()
    expect([clock.pendingTimers, clock.keepAliveTimers]).toEqual([1, 0])
    await clock.advance(20)
    expect(clock.pendingTimers).toBe(0)
  })

  test('a chain of timers without end lets time pass, and two advances at once are refused', async () => {
    const clock = new VirtualClock({ monotonic: 0 })
    let ran = 0
    const again = (): void => {
      ran += 1
      clock.setTimer(again, 0)
    }
    clock.setTimer(again, 0)
    const first = clock.advance(5)
    await expect(clock.advance(1)).rejects.toThrow('advanced already')
    await first
    expect(ran).toBe(5)
  })

  test('does not go to no time, nor backwards by itself', () => {
    const clock = new VirtualClock()
    for (const ms of [-1, NaN, Infinity]) {
      expect(() => clock.blockFor(ms)).toThrow(RangeError)
      expect(() => clock.asleepFor(ms)).toThrow(RangeError)
    }
    for (const ms of [NaN, Infinity]) expect(() => clock.stepWall(ms)).toThrow(RangeError)
    expect(() => new VirtualClock({ wall: NaN })).toThrow(RangeError)
  })
})
