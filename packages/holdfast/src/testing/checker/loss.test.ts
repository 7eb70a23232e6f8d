import { describe, expect, test } from 'vitest'
import type { HistoryRecord } from '../history-record.ts'
import { checkHistory } from './check.ts'
import { at, hold, type Told } from './sample-histories.ts'
import type { CheckOptions } from './verdict.ts'

// A ttl of 100 ms leaves 97 ms of validity.
const held = (told: Partial<Told>) =>
  hold({ who: 'a', asked: 0, granted: 2, ttl: 100, deadline: 97, ...told })
const end = (time: number) => at(time, 'a', { kind: 'end' })
const judge = (records: readonly HistoryRecord[], options: CheckOptions = {}) =>
  checkHistory(records, { only: ['INV-T1', 'INV-T2'], ...options })
const story = (records: readonly HistoryRecord[]) =>
  judge(records).violations.map(({ invariant, witness }) => [
    invariant,
    ...witness.map(({ time, kind }) => `${time} ${kind}`),
  ])

describe('INV-T1', () => {
  test('told by the deadline and 50 ms, given back before, or never heard of again', () => {
    expect(judge([...held({ lost: 147 }), end(900)]).ok).toBe(true)
    expect(judge([...held({ release: [90, 400] }), end(900)]).ok).toBe(true)
    expect(judge([...held({}), end(140)]).ok).toBe(true)
    expect(judge([...held({}), at(120, 'd', { kind: 'death', subject: 'a' }), end(900)]).ok).toBe(true)
  })

  test('told late, or never', () => {
    expect(story([...held({ lost: 148 }), end(900)])).toEqual([['INV-T1', '2 acquire-return', '148 loss']])
    expect(story([...held({}), end(900)])).toEqual([['INV-T1', '2 acquire-return', '900 end']])
    expect(story([...held({ release: [300, 301] })])).toEqual([
      ['INV-T1', '2 acquire-return', '300 release-call'],
    ])
    expect(judge([...held({ lost: 148 }), end(900)]).violations[0]?.sentence).toContain('51.0 ms later')
  })

  test('the slack can be widened', () => {
    expect(judge([...held({ lost: 400 }), end(900)], { lossSlack: 500 }).ok).toBe(true)
  })

  test('a stopped holder is told in its first turn', () => {
    const stop = (from: number, until: number | null) =>
      at(until ?? 1_000, 'd', { kind: 'stop', subject: 'a', from, until, cause: 'SIGSTOP' })
    expect(judge([...held({ lost: 540 }), stop(50, 500), end(900)]).ok).toBe(true)
    expect(judge([...held({ lost: 640 }), stop(50, 500), stop(520, 600), end(900)]).ok).toBe(true)
    expect(judge([...held({}), stop(50, null), end(900)]).ok).toBe(true)
    expect(story([...held({ lost: 560 }), stop(50, 500), end(900)])).toEqual([
      ['INV-T1', '2 acquire-return', '500 stop', '560 loss'],
    ])
    expect(judge([...held({ lost: 540 }), stop(50, 90), end(900)]).ok).toBe(false)
  })

  test('renewals move the deadline', () => {
    const renewal = at(60, 'a', { kind: 'renewal', hold: 'a', deadline: 155 })
    expect(judge([...held({ lost: 200 }), renewal, end(900)]).ok).toBe(true)
    expect(story([...held({ lost: 210 }), renewal, end(900)])).toEqual([['INV-T1', '60 renewal', '210 loss']])
  })

  test('a holder that does not say its deadline has it by its lease', () => {
    const silent = (lost: number) => hold({ who: 'a', asked: 0, granted: 2, ttl: 100, lost })
    expect(judge([...silent(149), end(900)]).ok).toBe(true)
    expect(judge([...silent(150), end(900)]).ok).toBe(false)
  })

  test('where the time of sending is known, the holder’s own word does not count', () => {
    expect(
      judge([...held({ sent: 1, deadline: 300, lost: 148 }), end(900)]).violations[0]?.sentence,
    ).toContain('counts on 199.0 ms more')
    expect(story([...held({ sent: 1, deadline: 100, lost: 149 }), end(900)])).toEqual([
      ['INV-T1', '2 acquire-return', '149 loss'],
    ])
  })

  test('nobody counts on more time than the lease has, nor on more than a fixed one had', () => {
    const renewal = (deadline: number, ttl?: number) =>
      at(60, 'a', { kind: 'renewal', hold: 'a', deadline, ttl: ttl ?? null })
    expect(story([...held({ release: [70, 71] }), renewal(3_600_000)])).toEqual([
      ['INV-T1', '0 acquire-call', '60 renewal'],
    ])
    expect(judge([...held({ release: [70, 71], renews: false }), renewal(98)]).ok).toBe(true)
    expect(story([...held({ release: [70, 71], renews: false }), renewal(155)])).toEqual([
      ['INV-T1', '2 acquire-return', '60 renewal'],
    ])
    expect(judge([...held({ release: [70, 71], renews: false }), renewal(555, 500)]).ok).toBe(true)
    const silent = hold({ who: 'a', asked: 0, granted: 2, ttl: 100, renews: false, release: [70, 71] })
    expect(judge([...silent, renewal(98)]).ok).toBe(true)
  })
})

describe('INV-T2', () => {
  const assertion = (time: number, passed: boolean) => at(time, 'a', { kind: 'assertion', hold: 'a', passed })

  test('assertions pass before the end and throw after it', () => {
    expect(judge([...held({ lost: 97 }), assertion(50, true), assertion(100, false)])).toMatchObject({
      ok: true,
      counted: { assertions: 2 },
    })
  })

  test('one that passes when the time is over, even if nothing was told yet', () => {
    expect(story([...held({ lost: 140 }), assertion(100, true)])).toEqual([
      ['INV-T2', '2 acquire-return', '100 assertion'],
    ])
  })

  test('one that passes after the loss was told, or after the release', () => {
    expect(story([...held({ lost: 50 }), assertion(51, true)])).toEqual([
      ['INV-T2', '50 loss', '51 assertion'],
    ])
    expect(story([...held({ release: [50, 60] }), assertion(61, true)])).toEqual([
      ['INV-T2', '60 release-return', '61 assertion'],
    ])
    expect(story([...held({ release: [50, 60], outcome: 'unconfirmed' }), assertion(61, true)])).toEqual([
      ['INV-T2', '60 release-return', '61 assertion'],
    ])
    expect(judge([...held({ release: [50, 60] }), assertion(55, true)]).ok).toBe(true)
    expect(judge([...held({ release: [50, 60], outcome: 'unknown' }), assertion(61, true)]).ok).toBe(true)
  })
})
