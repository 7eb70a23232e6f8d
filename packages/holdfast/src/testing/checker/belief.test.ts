import { describe, expect, test } from 'vitest'
import type { HistoryNote, HistoryRecord } from '../history-record.ts'
import { checkHistory } from './check.ts'
import { at, hold } from './sample-histories.ts'
import type { CheckOptions } from './verdict.ts'

const judge = (records: readonly HistoryRecord[], overlaps: CheckOptions['overlaps'] = 'explain') =>
  checkHistory(records, { only: ['INV-M2'], overlaps })

const paused = [
  ...hold({ who: 'a', asked: 0, granted: 1, ttl: 100, lost: 400 }),
  ...hold({ who: 'b', asked: 200, granted: 201, release: [300, 301] }),
]
const fault = (note: Partial<Extract<HistoryNote, { kind: 'fault' }>>) =>
  at(1e3, 'driver', { kind: 'fault', cause: 'flush', breaks: ['leases'], from: 150, until: 150, ...note })

describe('INV-M2', () => {
  test('beliefs end when told of the loss or asking for release, not when that is answered', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, release: [10, 50] }),
      ...hold({ who: 'b', asked: 5, granted: 10, lost: 20, release: [40, 41] }),
      ...hold({ who: 'c', asked: 5, granted: 20, release: [25, 26] }),
    ]
    expect(judge(records, 'assert')).toMatchObject({ ok: true, overlaps: [] })
  })

  test('who is told in the moment of its grant never believed', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, release: [10, 11] }),
      ...hold({ who: 'b', asked: 2, granted: 5, lost: 5 }),
    ]
    expect(judge(records, 'assert').overlaps).toEqual([])
  })

  test('two who believe at once: both owners, how long, and the four records that show it', () => {
    const verdict = judge(paused)
    expect(verdict.overlaps).toEqual([
      { name: 'lock', holds: ['a', 'b'], owners: ['a', 'b'], from: 201, until: 300, causes: [] },
    ])
    expect(verdict.violations).toHaveLength(1)
    expect(verdict.violations[0]?.sentence).toBe('a and b both believed to hold lock for 99.0 ms.')
    expect(verdict.violations[0]?.witness.map(({ time, kind }) => `${time} ${kind}`)).toEqual([
      '1 acquire-return',
      '201 acquire-return',
      '300 release-call',
      '400 loss',
    ])
    expect(verdict.counted.overlaps).toEqual({ count: 1, milliseconds: 99, byCause: { none: 1 } })
  })

  test('who never lets go believes until its last sign of life, or until it is killed', () => {
    const alive = [...hold({ who: 'a', asked: 0, granted: 1 }), at(90, 'a', { kind: 'end' })]
    const other = (granted: number) => hold({ who: 'b', asked: 40, granted, release: [200, 201] })
    expect(judge([...alive, ...other(50)]).ok).toBe(false)
    expect(judge([...alive, ...other(95)]).ok).toBe(true)
    expect(judge([...alive, ...other(50), at(45, 'd', { kind: 'death', subject: 'a' })]).ok).toBe(true)
  })

  test('a stop of the earlier holder explains it, one of the later does not', () => {
    const stop = (subject: string) =>
      at(400, 'd', { kind: 'stop', subject, from: 50, until: 399, cause: 'SIGSTOP' })
    const verdict = judge([...paused, stop('a')])
    expect(verdict).toMatchObject({ ok: true, counted: { overlaps: { count: 1, byCause: { SIGSTOP: 1 } } } })
    expect(judge([...paused, stop('b')]).ok).toBe(false)
    expect(judge([...paused, stop('a')], 'assert').ok).toBe(false)
    expect(judge(paused, 'count')).toMatchObject({
      ok: true,
      counted: { overlaps: { byCause: { none: 1 } } },
    })
  })

  test('a stop of the later holder explains it where its lease was over before it heard of it, and not else', () => {
    const heard = (lease: { deadline?: number; lost?: number }) => [
      ...hold({ who: 'late', asked: 0, granted: 1_600, ttl: 500, deadline: 1_599.9, lost: 1_601, ...lease }),
      ...hold({ who: 'next', asked: 10, granted: 1_590, ttl: 500, release: [2_600, 2_601] }),
      at(1_700, 'd', { kind: 'stop', subject: 'late', from: 100, until: 1_600, cause: 'SIGSTOP' }),
    ]
    expect(judge(heard({}))).toMatchObject({ ok: true, counted: { overlaps: { byCause: { SIGSTOP: 1 } } } })
    expect(judge(heard({}).slice(0, -1)).ok, 'nothing stopped it').toBe(false)
    expect(judge(heard({ deadline: 1_800 })).ok, 'its lease was not over').toBe(false)
    expect(judge(heard({ lost: 2_500 })).ok, 'it was told late').toBe(false)
  })

  test('a flush while the reply to an earlier grant was under way explains it, though the later one was told first', () => {
    const records = [
      ...hold({ who: 'slow', asked: 0, granted: 100, release: [200, 210] }),
      ...hold({ who: 'quick', asked: 40, granted: 50, release: [150, 160] }),
    ]
    expect(judge([...records, fault({ from: 20, until: 20 })]).ok).toBe(true)
    expect(judge([...records, fault({ from: 250, until: 250 })]).ok).toBe(false)
  })

  test('a fault explains it when it breaks what exclusion rests on, for them and at that time', () => {
    expect(judge([...paused, fault({})]).ok).toBe(true)
    expect(judge([...paused, fault({ breaks: ['clocks'] })]).ok).toBe(true)
    expect(judge([...paused, fault({ breaks: ['timing'], from: 0, until: null, subject: 'b' })]).ok).toBe(
      true,
    )
    expect(judge([...paused, fault({ breaks: ['service'] })]).ok).toBe(false)
    expect(judge([...paused, fault({ name: 'other' })]).ok).toBe(false)
    expect(judge([...paused, fault({ subject: 'c' })]).ok).toBe(false)
    expect(judge([...paused, fault({ from: 350, until: null })]).ok).toBe(false)
  })

  test('the moments between a deadline and its telling are explained by that, if it was told in time', () => {
    const told = (lost: number) => [
      ...hold({ who: 'a', asked: 0, granted: 1, ttl: 100, deadline: 97, lost }),
      ...hold({ who: 'b', asked: 99, granted: 101, release: [300, 301] }),
    ]
    expect(judge(told(120))).toMatchObject({
      ok: true,
      counted: { overlaps: { byCause: { 'told-late': 1 } } },
    })
    expect(judge(told(160)).ok).toBe(false)
  })

  test('a hold nested in another is no second holder; an owner used twice is', () => {
    const outer = hold({ who: 'a', asked: 0, granted: 1, release: [50, 51] })
    const [call, returned] = hold({ who: 'again', process: 'a', owner: 'a', asked: 5, granted: 6 })
    expect(judge([...outer, call, { ...returned, within: 'a' }] as HistoryRecord[]).ok).toBe(true)
    expect(judge([...outer, call, returned, at(60, 'a', { kind: 'end' })] as HistoryRecord[]).ok).toBe(false)
  })

  test('names are apart', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, release: [50, 51] }),
      ...hold({ who: 'b', name: 'other', asked: 0, granted: 1, release: [50, 51] }),
    ]
    expect(judge(records).overlaps).toEqual([])
  })
})
