import { describe, expect, test } from 'vitest'
import { explore, type Model } from '../../src/sim/search/explore.ts'
import { SEARCHES } from '../../src/sim/search/searches.ts'

/**
 * Goal: within its bound a search goes through every state, so that what it does not find is not there. Method: a world whose states
 * can be counted by hand; each search over the shipped scripts, whole within a small bound; and again with each rule taken out,
 * which it must find.
 */

const MINUTE = 60_000

/** Two counters that go up to 3 and 4. */
const counters = (wrong: (sum: number) => boolean): Model<readonly [number, number]> => ({
  start: [0, 0],
  *next([one, other]) {
    if (one < 3) yield { what: 'one', state: [one + 1, other] }
    if (other < 4) yield { what: 'other', state: [one, other + 1] }
  },
  keyOf: (state) => state.join(),
  wrong: ([one, other]) => (wrong(one + other) ? `${one} and ${other}` : null),
})

test('a search reaches each state once, and counts them', () => {
  expect(explore(counters(() => false))).toEqual({ states: 20, steps: 31, depth: 7, found: null })
})

test('what is wrong is shown by the shortest way there', () => {
  const { found } = explore(counters((sum) => sum === 3))
  expect(found?.way).toHaveLength(3)
})

test('a search that would not fit says so', () => {
  expect(() =>
    explore(
      counters(() => false),
      5,
    ),
  ).toThrow('there are more than 5 states')
})

describe.each(Object.entries(SEARCHES))('the search %s', (_name, search) => {
  test('finds nothing wrong with what is shipped, within the small bound', { timeout: MINUTE }, () => {
    const { found, states } = search.runShort()
    expect(found).toBeNull()
    expect(states).toBeGreaterThan(5_000)
  })

  test.each(search.rules)('finds that a rule is missing: %s', { timeout: MINUTE }, (rule) => {
    expect(search.runWithout(rule).found).not.toBeNull()
  })
})
