import { describe, expect, test } from 'vitest'
import type { AcquireOutcome, HistoryRecord } from '../history-record.ts'
import { checkHistory } from './check.ts'
import { at, hold } from './sample-histories.ts'
import type { CheckOptions } from './verdict.ts'

const judge = (records: readonly HistoryRecord[], options: CheckOptions = {}) =>
  checkHistory(records, { only: ['INV-H2', 'INV-C1'], ...options })
const kinds = (records: readonly HistoryRecord[]) =>
  judge(records).violations.map(({ witness }) => witness.map(({ time, kind }) => `${time} ${kind}`))

const key = (
  time: number,
  owner: string,
  more: { expiresIn?: number | null; began?: number; name?: string } = {},
) => at(time, 'd', { kind: 'key', key: 'h:{lock}:lock', name: 'lock', owner, expiresIn: 500, ...more })
const rejected = (outcome: AcquireOutcome) => [
  at(0, 'a', { kind: 'acquire-call', id: 'a', name: 'lock', ttl: 30_000, wait: 0, budget: 1_000 }),
  at(10, 'a', { kind: 'acquire-return', id: 'a', outcome }),
]

describe('INV-H2: keys', () => {
  test('what was rejected may have a key for its budget and 100 ms, and no longer', () => {
    for (const outcome of ['busy', 'timeout', 'error', 'unknown'] as const) {
      expect(judge([...rejected(outcome), key(1_110, 'x')]).ok).toBe(true)
      expect(kinds([...rejected(outcome), key(1_111, 'x')])).toEqual([
        ['0 acquire-call', '10 acquire-return', '1111 key'],
      ])
      expect(judge([...rejected(outcome), key(1_200, 'x', { began: 1_100 })]).ok).toBe(true)
    }
    expect(judge([...rejected('unknown'), key(1_111, 'x')], { compensationBound: 2_000 }).ok).toBe(true)
  })

  test('while the store is away nothing can be taken back', () => {
    const outage = at(5_000, 'd', { kind: 'fault', cause: 'cut', breaks: ['service'], from: 0, until: 5_000 })
    expect(judge([...rejected('unknown'), outage, key(6_100, 'x')]).ok).toBe(true)
    expect(judge([...rejected('unknown'), outage, key(6_101, 'x')]).ok).toBe(false)
  })

  test('a key of an owner who never asked', () => {
    expect(judge([key(5, 'x')]).violations[0]?.sentence).toContain('never asked')
    expect(judge([...hold({ who: 'a', asked: 0, granted: 1 }), key(2_000, 'x')]).ok).toBe(false)
  })

  test('one that waited may have gone on under another owner after a failure', () => {
    const call = at(0, 'a', {
      kind: 'acquire-call',
      id: 'a',
      name: 'lock',
      ttl: 30_000,
      wait: 5_000,
      budget: 1_000,
    })
    const granted = at(10, 'a', {
      kind: 'acquire-return',
      id: 'a',
      outcome: 'granted',
      owner: 'second',
      fence: 1n,
    })
    expect(judge([call, granted, key(1_110, 'first')]).ok).toBe(true)
    expect(judge([call, granted, key(1_111, 'first')]).ok).toBe(false)
  })

  test('an acquire under way may have one; one whose process died until its lease is over', () => {
    const [call] = rejected('busy') as [HistoryRecord]
    expect(judge([call, key(90_000, 'x')]).ok).toBe(true)
    const death = at(20, 'd', { kind: 'death', subject: 'a' })
    expect(judge([call, death, key(31_000, 'x')]).ok).toBe(true)
    expect(judge([call, death, key(31_200, 'x')]).ok).toBe(false)
  })

  test('a holder has its key until it gave it back', () => {
    const held = hold({ who: 'a', asked: 0, granted: 1, release: [100, 110] })
    expect(judge([...held, key(50, 'a'), key(1_210, 'a')]).ok).toBe(true)
    expect(kinds([...held, key(1_211, 'a')])).toEqual([
      ['1 acquire-return', '100 release-call', '110 release-return', '1211 key'],
    ])
  })

  test('who let go without an answer, or was told of the loss, keeps nothing alive', () => {
    const failed = hold({ who: 'a', asked: 0, granted: 1, release: [100, 1_100], outcome: 'unknown' })
    expect(judge([...failed, key(2_200, 'a')]).ok).toBe(true)
    expect(kinds([...failed, key(2_201, 'a')])).toEqual([
      ['1 acquire-return', '100 release-call', '2201 key'],
    ])
    const lost = hold({ who: 'a', asked: 0, granted: 1, lost: 100 })
    expect(judge([...lost, key(2_200, 'a')]).ok).toBe(true)
    expect(judge([...lost, key(2_201, 'a')]).ok).toBe(false)
  })

  test('keys of other kinds are not judged by locks', () => {
    expect(judge([at(1, 'd', { kind: 'key', key: 'h:fence', expiresIn: 9 })]).ok).toBe(true)
  })
})

describe('INV-H2: releases', () => {
  const other = (granted: number) => hold({ who: 'b', asked: 200, granted, release: [900, 901] })

  test('a release that claims a lock which another had been granted before', () => {
    const stale = hold({ who: 'a', asked: 0, granted: 1, ttl: 100, release: [300, 301] })
    expect(judge([...stale, ...other(300)]).ok).toBe(true)
    expect(judge([...stale, ...other(201)]).violations[0]?.sentence).toBe(
      'a was told that it released lock, which b had been granted before.',
    )
    expect(kinds([...stale, ...other(201)])[0]).toEqual([
      '1 acquire-return',
      '200 acquire-call',
      '201 acquire-return',
      '300 release-call',
      '301 release-return',
    ])
  })

  test('also when both were granted to one process, under owners of their own', () => {
    const stale = hold({ who: 'a', process: 'p', asked: 0, granted: 1, ttl: 100, release: [300, 301] })
    const next = hold({ who: 'b', process: 'p', asked: 200, granted: 201 })
    expect(judge([...stale, ...next]).ok).toBe(false)
  })

  test('a release that claims nothing is fine', () => {
    for (const outcome of ['unconfirmed', 'not-held', 'unknown', 'error'] as const) {
      const stale = hold({ who: 'a', asked: 0, granted: 1, ttl: 100, release: [300, 301], outcome })
      expect(judge([...stale, ...other(201)]).ok).toBe(true)
    }
  })

  test('one hold released twice', () => {
    const again = (outcome: 'released' | 'unconfirmed') => [
      ...hold({ who: 'a', asked: 0, granted: 1, release: [5, 6] }),
      at(7, 'a', { kind: 'release-call', id: 'r2', hold: 'a', budget: null }),
      at(8, 'a', { kind: 'release-return', id: 'r2', outcome }),
    ]
    expect(judge(again('unconfirmed')).ok).toBe(true)
    expect(judge(again('released')).violations[0]?.sentence).toContain('twice')
  })

  test('grants handed on within a lease are no others', () => {
    const first = hold({ who: 'a1', process: 'a', owner: 'a', asked: 0, granted: 1, release: [300, 301] })
    const second = hold({ who: 'a2', process: 'a', owner: 'a', asked: 100, granted: 101 })
    expect(judge([...first, ...second]).ok).toBe(true)
  })
})

describe('INV-C1', () => {
  test('what was left behind, each by itself', () => {
    const leaks = (['rejection', 'timer', 'listener', 'socket', 'key'] as const).map((what) =>
      at(1, 'a', { kind: 'leak', what, detail: 'this one' }),
    )
    const { violations } = judge(leaks)
    expect(violations.map(({ witness }) => witness)).toEqual(leaks.map((leak) => [leak]))
    expect(violations[0]?.sentence).toBe('A rejection was not handled by a: this one')
  })

  test('a key without expiry, whatever it is', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1 }),
      key(2, 'a', { expiresIn: null }),
      at(3, 'd', { kind: 'key', key: 'h:fence', expiresIn: null }),
    ]
    expect(judge(records).violations.map(({ sentence }) => sentence)).toEqual([
      'The key h:{lock}:lock has no expiry.',
      'The key h:fence has no expiry.',
    ])
    expect(judge([at(3, 'd', { kind: 'key', key: 'h:fence', expiresIn: 0 })]).ok).toBe(true)
  })
})
