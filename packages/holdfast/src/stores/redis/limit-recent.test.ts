import { beforeEach, expect, test } from 'vitest'
import { Attempt } from '../../store/attempt.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { RecentCalls, type CountedItem } from './limit-recent.ts'

/** Goal: the first call of an ask is known for twice its budget, and not for much longer. */

const BUDGET = 100

let clock: VirtualClock
let recent: RecentCalls

beforeEach(() => {
  clock = new VirtualClock()
  recent = new RecentCalls(clock)
})

function item(id: string): CountedItem {
  const until = clock.monotonic() + BUDGET
  return { id, attempt: new Attempt(until, until), call: null }
}

test('an item stands for itself until it is written, then its call does', () => {
  const [a, b] = [item('a'), item('b')]
  recent.waits(a)
  recent.waits(b)
  expect(recent.get('a')).toBe(a)
  const call = recent.sent([a, b], 'key')
  expect(call).toEqual({ replyKey: 'key', keepFor: 2 * BUDGET, ids: ['a', 'b'] })
  expect([recent.get('a'), recent.get('b'), recent.get('c')]).toEqual([call, call, undefined])
  expect([a.call, b.call]).toEqual([call, call])
})

test('one that failed before it was written is forgotten; one that failed afterwards is not', () => {
  const [a, b] = [item('a'), item('b')]
  recent.waits(a)
  recent.failed(a)
  expect(recent.get('a')).toBeUndefined()
  recent.waits(b)
  const call = recent.sent([b], 'key')
  recent.failed(b)
  expect(recent.get('b')).toBe(call)
})

test('it is known for twice the budget, whatever is asked meanwhile', async () => {
  const first = item('first')
  recent.waits(first)
  recent.sent([first], 'key')
  for (let n = 0; n < 2 * BUDGET - 1; n += 1) {
    await clock.advance(1)
    const other = item(`other${n}`)
    recent.waits(other)
    recent.sent([other], `key${n}`)
    expect(recent.get('first')).toBeDefined()
  }
})

test('it is forgotten within four budgets, also after a time without any asks', async () => {
  for (const pause of [4 * BUDGET + 1, 100 * BUDGET]) {
    const first = item(`first${pause}`)
    recent.waits(first)
    recent.sent([first], 'key')
    for (let passed = 0; passed < pause; passed += pause / 8) {
      await clock.advance(pause / 8)
      const other = item(`other${passed}`)
      recent.waits(other)
      recent.sent([other], 'other')
    }
    expect(recent.get(`first${pause}`)).toBeUndefined()
  }
})
