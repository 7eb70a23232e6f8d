import { describe, expect, test } from 'vitest'
import { isHoldfastError } from '../../errors.ts'
import type { HistoryRecord } from '../history-record.ts'
import { checkHistory } from './check.ts'
import { formatVerdict, formatViolation, formatWitness } from './format.ts'
import { at, hold, mutexHistory } from './sample-histories.ts'

describe('a verdict', () => {
  test('says how much there was to judge', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, lost: 20, release: [30, 31] }),
      at(2, 'b', { kind: 'acquire-call', id: 'b', name: 'other', wait: 0 }),
      at(3, 'b', { kind: 'acquire-return', id: 'b', outcome: 'busy' }),
      at(4, 'b', { kind: 'acquire-call', id: 'c', name: 'other', wait: 0 }),
    ]
    expect(checkHistory(records).counted).toEqual({
      records: 8,
      processes: 2,
      names: 2,
      acquires: { granted: 1, busy: 1, timeout: 0, error: 0, unknown: 0, unsettled: 1 },
      releases: 1,
      losses: { expired: 1 },
      assertions: 0,
      writes: { accepted: 0, refused: 0 },
      keysSeen: 0,
      overlaps: { count: 0, milliseconds: 0, byCause: {} },
      violations: {},
    })
    expect(checkHistory([])).toMatchObject({ ok: true, counted: { records: 0 } })
  })

  test('does not depend on the order of the records', () => {
    const { records } = mutexHistory({ seed: 3, grants: 30, processes: 4, fenced: true })
    expect(checkHistory(records.toReversed())).toMatchObject({ ok: true })
  })

  test('shows the first of many, and counts all', () => {
    const leaks = Array.from({ length: 25 }, (_leak, index) =>
      at(index, 'a', { kind: 'leak', what: 'timer', detail: String(index) }),
    )
    const verdict = checkHistory(leaks, { limit: 3 })
    expect(verdict.violations).toHaveLength(3)
    expect(verdict.counted.violations).toEqual({ 'INV-C1': 25 })
    expect(checkHistory(leaks, { only: ['INV-F1'] })).toMatchObject({ ok: true, counted: { violations: {} } })
  })

  test.each([
    ['only', { only: ['INV-F9'] }],
    ['only', { only: [] }],
    ['only', { only: 'INV-F1' }],
    ['overlaps', { overlaps: 'assrt' }],
    ['lossSlack', { lossSlack: NaN }],
    ['limit', { limit: '3' }],
    ['checkHistory.onyl', { onyl: ['INV-F1'] }],
  ])('is not given by a wrong %s, which would judge nothing: %j', (option, options) => {
    expect(() => checkHistory([], options as never)).toThrow(expect.objectContaining({ option }))
  })

  test.each<[string, readonly HistoryRecord[]]>([
    ['a return without its call', [at(1, 'a', { kind: 'acquire-return', id: 'x', outcome: 'busy' })]],
    ['a loss without its acquire', [at(1, 'a', { kind: 'loss', hold: 'x', reason: 'taken' })]],
    [
      'an id used twice',
      [...hold({ who: 'a', asked: 0, granted: 1 }), ...hold({ who: 'a', asked: 2, granted: 3 })],
    ],
    [
      'two returns of one acquire',
      [...hold({ who: 'a', asked: 0, granted: 1 }), ...hold({ who: 'a', asked: 0, granted: 1 }).slice(1)],
    ],
  ])('%s is no history', (_what, records) => {
    let error: unknown
    try {
      checkHistory(records)
    } catch (caught) {
      error = caught
    }
    expect(isHoldfastError(error, 'INVALID_ARGUMENT')).toBe(true)
  })
})

describe('as text', () => {
  const records = [
    ...hold({
      who: 'a',
      asked: 1_000,
      granted: 1_001.25,
      fence: 5n,
      deadline: 1_900,
      release: [1_020, 1_021],
    }),
    ...hold({ who: 'beta', asked: 1_003, granted: 1_010.5, fence: 6n, release: [1_011, 1_012] }),
  ]

  test('a witness is a timeline', () => {
    const [violation] = checkHistory(records, { only: ['INV-M1'] }).violations
    expect(formatWitness(violation?.witness ?? [])).toBe(
      [
        ' 0.000 ms  a     asks for lock (ttl 1s, wait 5s)  [a]',
        ' 1.250 ms  a     holds it until 900.000 ms (fence 5, owner a)  [a]',
        ' 3.000 ms  beta  asks for lock (ttl 1s, wait 5s)  [beta]',
        '10.500 ms  beta  holds it (fence 6, owner beta)  [beta]',
      ].join('\n'),
    )
  })

  test('a violation is its sentence over its witness, and a verdict all of them', () => {
    const verdict = checkHistory(records)
    const text = formatVerdict(verdict)
    expect(text).toMatch(
      /^The history breaks INV-M1 once, INV-M2 once, INV-H2 once\.\nRecords: 8, processes: 2/,
    )
    for (const violation of verdict.violations) expect(text).toContain(formatViolation(violation))
    expect(formatVerdict(checkHistory([]))).toContain('keeps every invariant')
    const undecided = checkHistory(
      mutexHistory({ seed: 1, grants: 9, processes: 2, fenced: false }).records,
      {
        searchLimit: 1,
      },
    )
    expect(formatVerdict(undecided)).toContain('could not be decided for lock')
  })

  test('every kind of record has its words', () => {
    const notes: HistoryRecord[] = [
      at(0, 'a', { kind: 'acquire-call', id: '1', name: 'n', wait: 0 }),
      at(1, 'a', { kind: 'acquire-return', id: '1', outcome: 'timeout', error: 'LOCK_TIMEOUT' }),
      at(2, 'a', { kind: 'renewal', hold: '1', deadline: 9 }),
      at(3, 'a', { kind: 'loss', hold: '1', reason: 'taken' }),
      at(4, 'a', { kind: 'assertion', hold: '1', passed: false }),
      at(5, 'a', { kind: 'release-call', id: '2', hold: '1' }),
      at(6, 'a', { kind: 'release-return', id: '2', outcome: 'not-held', reason: 'taken' }),
      at(7, 'a', { kind: 'call', id: '3', operation: 'inspect', name: 'n', wait: 0 }),
      at(8, 'a', { kind: 'return', id: '3', outcome: 'done' }),
      at(9, 'a', { kind: 'write', resource: 'row', fence: 3n, accepted: false, order: 2 }),
      at(10, 'a', { kind: 'key', key: 'k', owner: 'o'.repeat(40), expiresIn: null }),
      at(11, 's', { kind: 'store', name: 'n', event: 'free', order: 4, owner: 'o', cause: 'flush' }),
      at(12, 'd', { kind: 'stop', subject: 'a', from: 3, until: 12, cause: 'SIGSTOP' }),
      at(13, 'd', { kind: 'fault', cause: 'FLUSHALL', breaks: ['leases'], from: 3, until: null }),
      at(14, 'd', { kind: 'death', subject: 'a' }),
      at(15, 'a', { kind: 'end' }),
      at(16, 'a', { kind: 'leak', what: 'timer', detail: 'two' }),
    ]
    expect(
      formatWitness(notes)
        .split('\n')
        .map((line) => line.slice('10.000 ms  a  '.length)),
    ).toEqual([
      'asks for n (wait 0)  [1]',
      'is answered timeout: LOCK_TIMEOUT  [1]',
      'holds it until 9.000 ms  [1]',
      'is told that it is lost: taken  [1]',
      'is refused the assurance that it holds  [1]',
      'asks for release  [1, 2]',
      'is answered not-held: taken  [2]',
      'calls inspect (name n, wait 0)  [3]',
      'is done  [3]',
      'writes to row, refused (fence 3, order 2)',
      `sees k (owner ${'o'.repeat(23)}…, expires never)`,
      'frees n (owner o, cause flush)  [#4]',
      'a stood still from 3.000 ms, until 12.000 ms: SIGSTOP',
      'fault from 3.000 ms, for ever: FLUSHALL (breaks leases)',
      'a is killed',
      'ends',
      'leaves a timer: two',
    ])
  })
})
