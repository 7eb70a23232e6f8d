import { checkHistory, type HistoryEntry } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { isExcused } from '../../src/sim/judge/excuses.ts'
import {
  ask,
  asksOther,
  asleep,
  died,
  fault,
  freed,
  givenBack,
  givesBack,
  granted,
  OTHER,
  OWN,
  records,
  renewed,
  store,
} from './history-by-hand.ts'

/** Goal: what the checker holds against a schedule is excused for the reason that is named, and not without it. */

/** What is held against a history, and not excused. */
function held(...entries: HistoryEntry[]): string[] {
  const history = records(...entries)
  const { violations } = checkHistory(history, { only: ['INV-H1', 'INV-H2', 'INV-T1'] })
  expect(violations).not.toEqual([])
  return violations.filter((each) => !isExcused(each, history, 0)).map(({ invariant }) => invariant)
}

test('INV-H1: who died before its time was over by the clock that slept owed no answer', () => {
  const end = [asksOther(1_490), died(1_500)]
  expect(held(ask(0), asleep(100, 600), ...end)).toEqual(['INV-H1'])
  expect(held(ask(0), asleep(100, 1_050), ...end)).toEqual([])
})

test('INV-H2: a release is its own again where another copy of its acquire was granted after the other holder', () => {
  const history = [
    ask(0),
    store(5, 'grant', OWN, { fence: 1n }),
    granted(10, 'p', { fence: 1n }),
    freed(15, OWN, 'force'),
    ask(20, 'q'),
    store(25, 'grant', OTHER, { fence: 2n }),
    granted(30, 'q', { fence: 2n }),
    freed(35, OTHER, 'force'),
  ]
  const end = [givesBack(60), givenBack(70)]
  expect(held(...history, ...end)).toEqual(['INV-H2'])
  expect(held(...history, store(50, 'grant', OWN, { fence: 3n }), ...end)).toEqual([])
})

test('INV-T1: a machine that slept and whose wall clock was set back counts on what it slept; not before that', () => {
  const blinded = (time: number): HistoryEntry =>
    fault(0, null, 'timing', { time, cause: 'slept, and wall clock set back', subject: 'p' })
  const later = renewed(500, 1_700)
  const history = [ask(0), granted(10)]
  expect(held(...history, later)).toEqual(['INV-T1'])
  expect(held(...history, blinded(400), later)).toEqual([])
  expect(held(...history, later, blinded(600))).toEqual(['INV-T1'])
})
