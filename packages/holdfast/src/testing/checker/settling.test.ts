import { describe, expect, test } from 'vitest'
import type { HistoryRecord } from '../history-record.ts'
import { checkHistory } from './check.ts'
import { at, hold } from './sample-histories.ts'

const judge = (records: readonly HistoryRecord[]) => checkHistory(records, { only: ['INV-H1'] })
const call = (more: { wait?: number; budget?: number | null } = {}) =>
  at(0, 'a', { kind: 'call', id: '1', operation: 'close', wait: 0, budget: 1_000, ...more })
const back = (time: number) => at(time, 'a', { kind: 'return', id: '1', outcome: 'failed' })
const end = (time: number) => at(time, 'a', { kind: 'end' })

describe('INV-H1', () => {
  test('settled within wait, budget and 100 ms', () => {
    expect(judge([call(), back(1_100)]).ok).toBe(true)
    expect(judge([call({ wait: 500 }), back(1_600)]).ok).toBe(true)
    expect(judge([call({ budget: null }), back(9_999)]).ok).toBe(true)
  })

  test('settled too late', () => {
    const [violation] = judge([call(), back(1_101)]).violations
    expect(violation?.sentence).toBe('A call of close settled only after 1101.0 ms; 1000 ms were promised.')
    expect(violation?.witness.map(({ kind }) => kind)).toEqual(['call', 'return'])
  })

  test('never settled, as far as the process lived to tell', () => {
    expect(judge([call(), end(1_000)]).ok).toBe(true)
    expect(judge([call(), end(5_000), at(900, 'd', { kind: 'death', subject: 'a' })]).ok).toBe(true)
    const [violation] = judge([call(), end(5_000)]).violations
    expect(violation?.sentence).toContain('did not settle')
    expect(violation?.witness.map(({ kind }) => kind)).toEqual(['call', 'end'])
  })

  test('a stop puts it off', () => {
    const stop = at(3_000, 'd', { kind: 'stop', subject: 'a', from: 500, until: 3_000, cause: 'SIGSTOP' })
    expect(judge([call(), stop, back(3_100)]).ok).toBe(true)
    expect(judge([call(), stop, back(3_101)]).violations[0]?.witness).toHaveLength(3)
  })

  test('acquires and releases are promises too', () => {
    const late = hold({ who: 'a', asked: 0, granted: 6_101, release: [6_200, 7_301] })
    expect(judge(late).violations.map(({ sentence }) => sentence)).toEqual([
      'The acquire of lock settled only after 6101.0 ms; 6000 ms were promised.',
      'The release of lock settled only after 1101.0 ms; 1000 ms were promised.',
    ])
  })
})
