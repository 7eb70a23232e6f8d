import { describe, expect, test } from 'vitest'
import type { HistoryRecord } from '../history-record.ts'
import { checkHistory } from './check.ts'
import { at, hold } from './sample-histories.ts'

const judge = (records: readonly HistoryRecord[]) => checkHistory(records, { only: ['INV-F1', 'INV-F2'] })
const sentences = (records: readonly HistoryRecord[]) =>
  judge(records).violations.map(({ sentence }) => sentence)

describe('INV-F1', () => {
  test('fences that rise, also when the answers cross', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 30, fence: 1n }),
      ...hold({ who: 'b', asked: 10, granted: 20, fence: 2n }),
      ...hold({ who: 'c', asked: 40, granted: 50, fence: 3n }),
    ]
    expect(judge(records)).toMatchObject({ ok: true })
  })

  test('a fence that falls, with the three records that show it', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, fence: 7n }),
      ...hold({ who: 'b', asked: 2, granted: 3, fence: 9n }),
      ...hold({ who: 'c', asked: 4, granted: 5, fence: 8n }),
    ]
    const verdict = judge(records)
    expect(verdict.violations).toHaveLength(1)
    expect(verdict.violations[0]).toMatchObject({
      invariant: 'INV-F1',
      sentence: 'The fence of lock fell from 9 to 8.',
    })
    expect(verdict.violations[0]?.witness.map(({ time, kind }) => `${time} ${kind}`)).toEqual([
      '3 acquire-return',
      '4 acquire-call',
      '5 acquire-return',
    ])
  })

  test('a fence given out twice, whenever that was', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 10, fence: 7n }),
      ...hold({ who: 'b', asked: 0, granted: 10, fence: 7n }),
    ]
    expect(sentences(records)).toEqual(['The fence 7 of lock was given out twice, to a and b.'])
  })

  test('clocks that disagree excuse it while they do', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, fence: 9n }),
      ...hold({ who: 'b', asked: 20, granted: 21, fence: 8n }),
    ]
    const fault = (from: number) =>
      at(from, 'd', { kind: 'fault', cause: 'clock stepped back', breaks: ['clocks'], from, until: from })
    expect(judge([...records, fault(10)]).ok).toBe(true)
    expect(judge([...records, fault(30)]).ok).toBe(false)
  })

  test('within a lease grants handed on rise; against other leases a late one may be low', () => {
    const lease = (second: bigint) => [
      ...hold({ who: 'a1', process: 'a', owner: 'a', asked: 0, granted: 1, fence: 5n, release: [2, 2] }),
      ...hold({ who: 'b', asked: 3, granted: 4, fence: 9n }),
      ...hold({ who: 'a2', process: 'a', owner: 'a', asked: 5, granted: 6, fence: second }),
    ]
    expect(judge(lease(6n)).ok).toBe(true)
    expect(sentences(lease(4n))).toEqual(['The fence of lock fell from 5 to 4.'])
  })

  test('a nested hold keeps the outer fence', () => {
    const [call, returned] = hold({ who: 'in', process: 'a', owner: 'a', asked: 5, granted: 6, fence: 1n })
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, fence: 1n }),
      call,
      { ...returned, within: 'a' },
    ]
    expect(judge(records as HistoryRecord[]).ok).toBe(true)
  })

  test('by the store’s own order', () => {
    const grant = (order: number, owner: string, fence: bigint) =>
      at(order, 's', { kind: 'store', name: 'lock', event: 'grant', order, owner, fence, expires: order })
    expect(judge([grant(1, 'a', 1n), grant(2, 'b', 2n), grant(3, 'b', 2n)]).ok).toBe(true)
    expect(sentences([grant(2, 'b', 2n), grant(1, 'a', 3n)])).toEqual(['The fence of lock fell from 3 to 2.'])
  })
})

describe('INV-F2', () => {
  const write = (
    time: number,
    fence: bigint,
    more: { order?: number; began?: number; accepted?: boolean } = {},
  ) => at(time, 'w', { kind: 'write', resource: 'row', fence, accepted: true, ...more })

  test('equal fences and refused writes are fine', () => {
    const records = [
      write(1, 1n, { order: 1 }),
      write(2, 1n, { order: 2 }),
      write(3, 5n, { order: 3 }),
      write(4, 1n, { order: 4, accepted: false }),
    ]
    expect(judge(records)).toMatchObject({ ok: true, counted: { writes: { accepted: 3, refused: 1 } } })
  })

  test('a stale write that was accepted, by the order of the resource and not of the answers', () => {
    const records = [write(9, 5n, { order: 1 }), write(2, 4n, { order: 2 }), write(3, 6n, { order: 3 })]
    const [violation, ...others] = judge(records).violations
    expect(others).toEqual([])
    expect(violation?.invariant).toBe('INV-F2')
    expect(violation?.sentence).toBe('row accepted a write with the fence 4 after one with the fence 5.')
    expect(violation?.witness.map(({ time }) => time)).toEqual([2, 9])
  })

  test('without an order, only writes that cannot have crossed are compared', () => {
    expect(judge([write(5, 5n, { began: 1 }), write(9, 4n, { began: 4 })]).ok).toBe(true)
    expect(judge([write(5, 5n, { began: 1 }), write(9, 4n, { began: 6 })]).ok).toBe(false)
    expect(judge([write(5, 5n), write(9, 4n)]).ok).toBe(true)
  })

  test('no fault excuses it, and resources are apart', () => {
    const fault = at(0, 'd', {
      kind: 'fault',
      cause: 'all',
      breaks: ['leases', 'clocks', 'timing', 'service'],
      from: 0,
      until: null,
    })
    expect(judge([fault, write(1, 5n, { order: 1 }), write(2, 4n, { order: 2 })]).ok).toBe(false)
    const other = at(2, 'w', { kind: 'write', resource: 'another', fence: 4n, accepted: true, order: 2 })
    expect(judge([write(1, 5n, { order: 1 }), other]).ok).toBe(true)
  })
})
