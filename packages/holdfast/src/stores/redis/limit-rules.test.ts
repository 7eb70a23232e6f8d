import { describe, expect, test } from 'vitest'
import type { Policy } from '../../store/limit/policy.ts'
import {
  COMMON_UNITS,
  NOT_PLAIN,
  plainRule,
  rulesText,
  unitsOf,
  usageSuffix,
  WHOLE_RING,
} from './limit-rules.ts'
import count from './lua/limit-count.lua'

/** Goal: the scripts read the rules as they were meant, by the same tables. */

const bucket: Policy = { kind: 'token-bucket', name: 'b', capacity: 20, refill: 10, per: 1_000 }

test('the common units are those of the script, each once, and few enough for their place in a value', () => {
  const list = /local function commonUnits\(\)\n {2}return \{([\d,\s]+)\}/.exec(count.source)?.[1] ?? ''
  const units = list.split(',').filter((unit) => unit.trim() !== '')
  expect(units.map(Number)).toEqual(COMMON_UNITS)
  expect(new Set(COMMON_UNITS).size).toBe(64)
})

test('units of usual rates are among them', () => {
  const spans = [1_000, 60_000, 3_600_000, 86_400_000]
  const uncommon = spans.flatMap((per) =>
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]
      .map((refill) => ({ ...bucket, refill, per }))
      .filter((policy) => !COMMON_UNITS.includes(unitsOf(policy).unit))
      .map(({ refill }) => `${refill} in ${per}`),
  )
  // Once or a few times a day; they take a longer form.
  for (const text of uncommon) expect(text).toMatch(/ in (3600000|86400000)$/)
})

test('the script and the library agree on which rings are small', () => {
  expect(count.source).toContain(`local RING_WHOLE = ${WHOLE_RING}\n`)
})

describe('rules', () => {
  test('a bucket alone is plain, in whole numbers', () => {
    expect(plainRule([bucket])).toEqual(['t', '100', '1', '2000', String(COMMON_UNITS.indexOf(100))])
    expect(plainRule([{ kind: 'leaky-bucket', name: 'l', capacity: 3, rate: 1, per: 7_001 }])).toEqual([
      'l',
      '7001',
      '1',
      '21003',
      '-1',
    ])
  })

  test('windows alone are plain, small and large ones told apart', () => {
    expect(plainRule([{ kind: 'fixed-window', name: 'f', limit: 9, per: 50 }])).toEqual([
      'f',
      '1',
      '50',
      '9',
      '-1',
    ])
    const window = (limit: number): Policy => ({ kind: 'sliding-window', name: 'w', limit, per: 50 })
    expect(plainRule([window(128)])[0]).toBe('w')
    expect(plainRule([window(129)])[0]).toBe('W')
  })

  test('nothing else is', () => {
    expect(plainRule([bucket, { ...bucket, name: 'c' }])).toEqual(NOT_PLAIN)
    expect(plainRule([{ kind: 'concurrency', name: 's', limit: 1, lease: 5 }])).toEqual(NOT_PLAIN)
    expect(plainRule([{ kind: 'sliding-counter', name: 's', limit: 1, per: 5 }])).toEqual(NOT_PLAIN)
  })

  test('as text: kind, capacity and numbers of each, whether denied takes count, and the longest span', () => {
    const slots: Policy = { kind: 'concurrency', name: 's', limit: 4, lease: 30_000 }
    expect(JSON.parse(rulesText([bucket, slots], true))).toEqual({
      rules: [
        ['t', 20, 100, 1, 2000, COMMON_UNITS.indexOf(100)],
        ['s', 4, 30_000],
      ],
      deny: true,
      span: 30_000,
    })
  })

  test('keys end with the encoded name of the policy', () => {
    expect(usageSuffix({ ...bucket, name: 'a{b} c' })).toBe(':a%7Bb%7D%20c')
  })
})
