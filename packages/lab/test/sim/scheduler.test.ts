import { expect, test } from 'vitest'
import { Actor } from '../../src/sim/actor.ts'
import { ClientProcess, WALL_START } from '../../src/sim/client/process.ts'
import { Scheduler } from '../../src/sim/scheduler.ts'

/** Goal: time in a simulated world is what it should be: in order, one thing at a time, each process by its own clock. */

function runAll(scheduler: Scheduler, until = Infinity): void {
  while (scheduler.step(until));
}

test('things happen in the order of their times, and of one time in the order in which they were planned', () => {
  const scheduler = new Scheduler()
  const seen: string[] = []
  for (const [time, what] of [
    [5, 'd'],
    [1, 'a'],
    [5, 'e'],
    [3, 'c'],
    [1, 'b'],
  ] as const)
    scheduler.at(time, null, () => seen.push(`${what}@${scheduler.now}`))
  runAll(scheduler)
  expect(seen).toEqual(['a@1', 'b@1', 'c@3', 'd@5', 'e@5'])
})

test('what was cancelled does not happen, and nothing happens after the time that is given', () => {
  const scheduler = new Scheduler()
  const seen: number[] = []
  scheduler.at(1, null, () => seen.push(1)).cancelled = true
  scheduler.at(2, null, () => seen.push(2))
  scheduler.at(9, null, () => seen.push(9))
  runAll(scheduler, 8)
  expect(seen).toEqual([2])
})

test('what happens to one who stands still waits until it goes on; to a dead one it never happens', () => {
  const scheduler = new Scheduler()
  const stopped = new Actor('stopped', scheduler)
  const dead = new Actor('dead', scheduler)
  const seen: string[] = []
  stopped.busyFor(10)
  scheduler.at(3, stopped, () => seen.push(`first@${scheduler.now}`))
  scheduler.at(4, stopped, () => seen.push(`second@${scheduler.now}`))
  scheduler.at(5, dead, () => seen.push('dead'))
  scheduler.at(6, null, () => seen.push('world@6'))
  dead.kill()
  runAll(scheduler)
  expect(seen).toEqual(['world@6', 'first@10', 'second@10'])
})

function process(rate = 1, scheduler = new Scheduler()): ClientProcess {
  return new ClientProcess('one', scheduler, { rate, wallOff: 500, lateness: 0 }, 1)
}

test('a timer rings by the clock of its process, which runs faster or slower than the world', () => {
  const one = process(1.25)
  const { clock, scheduler } = one
  const began = clock.monotonic()
  let rang = NaN
  clock.setTimer(() => {
    rang = scheduler.now
  }, 100)
  runAll(scheduler)
  expect(rang).toBeCloseTo(80)
  expect(clock.monotonic() - began).toBeCloseTo(100)
  expect(clock.wall()).toBeCloseTo(WALL_START + 500 + 100)
  expect(clock.pendingTimers).toBe(0)
})

test('while its machine sleeps the monotonic clock and the timers stand still, and the wall clock goes on', () => {
  const one = process()
  const { clock, scheduler } = one
  const before = { monotonic: clock.monotonic(), wall: clock.wall() }
  let rang = NaN
  clock.setTimer(() => {
    rang = scheduler.now
  }, 100)
  scheduler.at(40, null, () => one.sleepFor(1_000, 'in-order'))
  runAll(scheduler)
  expect(rang).toBeCloseTo(1_100)
  expect(clock.monotonic() - before.monotonic).toBeCloseTo(100)
  expect(clock.wall() - before.wall).toBeCloseTo(1_100)
})

test('one whose event loop is blocked is in the midst of it: its clocks go on, and its timers ring afterwards', () => {
  const one = process()
  const { clock, scheduler } = one
  const seen: number[] = []
  clock.setTimer(() => {
    const before = clock.monotonic()
    one.busyFor(50)
    seen.push(clock.monotonic() - before)
  }, 10)
  clock.setTimer(() => seen.push(clock.monotonic() - 1_000), 20)
  runAll(scheduler)
  expect(seen).toEqual([50, 60])
})
