import { describe, expect, test } from 'vitest'
import { bounds } from '../defaults.ts'
import { beatOf, isDead, nextToWake, type QueueEntry } from './wait-queue.ts'

const NOW = 1_000_000
const entry = (process: string, more: Partial<QueueEntry> = {}): QueueEntry => ({
  process,
  place: NOW,
  beat: NOW,
  woken: false,
  ...more,
})

describe('standing in the queue', () => {
  test('a new entry stands behind the highest place, and not before the server time', () => {
    expect(beatOf(null, 0, 'a', NOW)).toEqual(entry('a'))
    expect(beatOf(null, NOW - 1, 'a', NOW)?.place).toBe(NOW)
    expect(beatOf(null, NOW, 'a', NOW)?.place).toBe(NOW + 1)
    // A clock that was stepped back does not let newcomers in front.
    expect(beatOf(null, NOW + 60_000, 'a', NOW)?.place).toBe(NOW + 60_001)
  })

  test('an entry is written again when its sign of life is old, in the future, or asked for by a wake-up', () => {
    expect(beatOf(entry('a'), NOW, 'a', NOW)).toBeNull()
    expect(beatOf(entry('a', { beat: NOW - bounds.heartbeat + 1 }), NOW, 'a', NOW)).toBeNull()
    const old = entry('a', { place: 5, beat: NOW - bounds.heartbeat })
    expect(beatOf(old, NOW, 'a', NOW)).toEqual({ ...old, beat: NOW })
    const ahead = entry('a', { place: 5, beat: NOW + 1 })
    expect(beatOf(ahead, NOW, 'a', NOW)).toEqual({ ...ahead, beat: NOW })
    const woken = entry('a', { place: 5, woken: true })
    expect(beatOf(woken, NOW, 'a', NOW)).toEqual({ ...woken, woken: false })
  })

  test('heartbeats come every two to three seconds while a waiter polls, and three of them fit before it counts as dead', () => {
    const slowestPoll = bounds.safetyPoll * 1.25
    expect(bounds.heartbeat + slowestPoll).toBeLessThanOrEqual(3_250)
    expect(bounds.waiterDeadAfter).toBeGreaterThan(bounds.heartbeat + 2 * slowestPoll)
    expect(bounds.queueTtl).toBeGreaterThan(bounds.waiterDeadAfter)
  })

  test('dead is who gave no sign for longer than the bound', () => {
    expect(isDead(entry('a', { beat: NOW - bounds.waiterDeadAfter }), NOW)).toBe(false)
    expect(isDead(entry('a', { beat: NOW - bounds.waiterDeadAfter - 1 }), NOW)).toBe(true)
    expect(isDead(entry('a', { beat: NOW + 999_999 }), NOW)).toBe(false)
  })
})

describe('who is woken', () => {
  const a = entry('a', { place: 1 })
  const b = entry('b', { place: 2 })
  const c = entry('c', { place: 3 })

  test('the first by place, in whatever order they lie', () => {
    expect(nextToWake([c, a, b], 'x')).toBe(a)
    expect(nextToWake([], 'x')).toBeNull()
  })

  test('never the own process', () => {
    expect(nextToWake([a, b], 'a')).toBe(b)
    expect(nextToWake([a], 'a')).toBeNull()
  })

  test('not who was woken and gave no sign since', () => {
    expect(nextToWake([{ ...a, woken: true }, b, c], 'x')).toBe(b)
    expect(nextToWake([{ ...a, woken: true }], 'x')).toBeNull()
  })
})
