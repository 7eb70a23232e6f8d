import { StoreUnavailableError } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { MINUTE } from '../../src/demo/limit/gate.ts'
import { admittedInMinuteBefore, countOf, mostInAnyMinute, outcomeOf } from '../../src/demo/limit/traffic.ts'
import { request, times } from './limit-support.ts'

/** Goal: what is called too much in a minute was too much, whatever the clocks and the way to the store did. */

describe('mostInAnyMinute', () => {
  test('finds the fullest minute, wherever it begins', () => {
    const requests = [
      ...times(3, request(0)),
      ...times(4, request(0.9 * MINUTE)),
      ...times(5, request(1.5 * MINUTE)),
    ]
    expect(mostInAnyMinute(requests)).toBe(9)
  })

  test('what is a minute apart is not in one minute', () => {
    expect(mostInAnyMinute([request(0), request(MINUTE)])).toBe(1)
    expect(mostInAnyMinute([request(0), request(MINUTE - 5)])).toBe(2)
  })

  test('the store counts whole milliseconds: what may have been a minute apart does not count', () => {
    expect(mostInAnyMinute([request(0), request(MINUTE - 1)])).toBe(1)
  })

  test('who was under way for long may have been decided at any time meanwhile', () => {
    // The first may have been decided at once, the second at the end.
    expect(mostInAnyMinute([request(0), request(100, 'P2', 'admitted', MINUTE)])).toBe(1)
  })

  test('denied and unanswered ones do not count', () => {
    expect(mostInAnyMinute([request(0, 'P1', 'denied'), request(1, 'P1', 'unanswered'), request(2)])).toBe(1)
    expect(mostInAnyMinute([])).toBe(0)
  })
})

test('admittedInMinuteBefore counts what is over by then, and not yet a minute old', () => {
  const requests = [request(0), request(10), request(500, 'P1', 'admitted', 50)]
  expect([9, 10, 549, 550, MINUTE + 5].map((end) => admittedInMinuteBefore(end, requests))).toEqual([
    1, 2, 2, 3, 2,
  ])
})

test('outcomeOf tells a denial from a store that does not answer, and hides no fault', async () => {
  const failing = (error: Error) => outcomeOf(() => Promise.reject(error))
  expect(await outcomeOf(async () => true)).toBe('admitted')
  expect(await outcomeOf(async () => false)).toBe('denied')
  expect(await failing(new StoreUnavailableError('no answer', 'unknown'))).toBe('unanswered')
  await expect(failing(new TypeError('a fault'))).rejects.toThrow('a fault')
})

test('countOf counts one outcome', () => {
  expect(countOf([request(0), request(1, 'P2', 'denied'), request(2, 'P2', 'denied')], 'denied')).toBe(2)
})
