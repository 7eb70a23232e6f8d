import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { HistoryRecord } from '../history-record.ts'
import { checkHistory } from './check.ts'
import { formatVerdict, formatWitness } from './format.ts'
import { earliestEnd, fitsInOrder, linearise, type Slot } from './linearise.ts'
import { at, hold, mutexHistory, type Shape } from './sample-histories.ts'
import type { InvariantId } from './verdict.ts'

const only = (...only: InvariantId[]) => ({ only })
const judge = (records: readonly HistoryRecord[]) => checkHistory(records, only('INV-M1'))
const witness = (records: readonly HistoryRecord[]) =>
  judge(records).violations.map((violation) =>
    violation.witness.map(({ kind, process, time }) => `${time} ${process} ${kind}`),
  )

describe('INV-M1: the order has to be found', () => {
  test('one after the other fits', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, fence: 5n, release: [10, 12] }),
      ...hold({ who: 'b', asked: 3, granted: 11.5, fence: 6n, release: [20, 21] }),
    ]
    expect(judge(records)).toMatchObject({ ok: true, counted: { acquires: { granted: 2 } } })
  })

  test('a grant while another holds is shown by the two grants alone', () => {
    const records = [
      ...hold({ who: 'x', asked: 0, granted: 1, release: [2, 3] }),
      ...hold({ who: 'a', asked: 4, granted: 5, release: [20, 21] }),
      ...hold({ who: 'b', asked: 6, granted: 7, release: [8, 9] }),
      ...hold({ who: 'y', asked: 30, granted: 31, release: [32, 33] }),
    ]
    expect(witness(records)).toEqual([
      ['4 a acquire-call', '5 a acquire-return', '6 b acquire-call', '7 b acquire-return'],
    ])
    expect(judge(records).violations[0]?.sentence).toContain('before a could have ceased to hold it')
  })

  test('a lease that has run out frees the lock, one that was renewed does not', () => {
    const a = hold({ who: 'a', asked: 0, granted: 1, ttl: 1_000 })
    const b = hold({ who: 'b', asked: 1_001, granted: 1_002 })
    const renewal = at(500, 'a', { kind: 'renewal', hold: 'a', deadline: 1_480 })
    expect(judge([...a, ...b]).ok).toBe(true)
    expect(witness([...a, ...b, renewal])).toEqual([
      [
        '0 a acquire-call',
        '1 a acquire-return',
        '500 a renewal',
        '1001 b acquire-call',
        '1002 b acquire-return',
      ],
    ])
  })

  test('a lease that was over when it was first looked at may have been granted and have ended long before', () => {
    const stopped = (deadline: number) => [
      ...hold({ who: 'late', asked: 0, granted: 2_400, ttl: 500, fence: 5n, deadline, lost: 2_401 }),
      ...hold({ who: 'next', asked: 1_000, granted: 1_500, ttl: 500, fence: 6n, release: [1_510, 1_511] }),
    ]
    expect(judge(stopped(2_399.9)).ok).toBe(true)
    // Had it been held until then, it had been granted after the other.
    expect(judge(stopped(2_400.1)).ok).toBe(false)
  })

  test('a lease without an end is never free by itself', () => {
    const a = hold({ who: 'a', asked: 0, granted: 1 }).map((record) =>
      record.kind === 'acquire-call' ? { ...record, ttl: null } : record,
    )
    expect(judge([...a, ...hold({ who: 'b', asked: 1e9, granted: 1e9 })]).ok).toBe(false)
  })

  test('what the holder says of its deadline counts: it may have been granted long after it asked', () => {
    const waited = (deadline?: number) => [
      ...hold({ who: 'x', asked: 0, granted: 1, release: [890, 891] }),
      ...hold({ who: 'a', asked: 2, granted: 900, ...(deadline === undefined ? {} : { deadline }) }),
      ...hold({ who: 'b', asked: 2, granted: 1_880 }),
    ]
    // All that is known without it: granted after 890, for 988 ms at least.
    expect(judge(waited()).ok).toBe(true)
    expect(judge(waited(1_879)).ok).toBe(true)
    expect(judge(waited(1_885)).ok).toBe(false)
  })

  test('a fence that does not rise is told as that', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, fence: 9n, release: [2, 3] }),
      ...hold({ who: 'b', asked: 4, granted: 5, fence: 9n, release: [6, 7] }),
    ]
    expect(judge(records).violations).toMatchObject([
      { sentence: expect.stringContaining('9 after 9') as string },
    ])
  })

  test('a release that did its work late is part of the story', () => {
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, fence: 1n, ttl: 100, release: [300, 301] }),
      ...hold({ who: 'b', asked: 200, granted: 201, fence: 2n, release: [203, 204] }),
    ]
    expect(witness(records)[0]).toEqual([
      '0 a acquire-call',
      '1 a acquire-return',
      '200 b acquire-call',
      '201 b acquire-return',
      '300 a release-call',
      '301 a release-return',
    ])
  })

  test('a release of unknown outcome, and one that found nothing, may have worked at any time', () => {
    for (const outcome of ['unknown', 'unconfirmed', 'not-held', 'error'] as const) {
      const records = [
        ...hold({ who: 'a', asked: 0, granted: 1, release: [10, 20], outcome }),
        ...hold({ who: 'b', asked: 100, granted: 101 }),
      ]
      expect(judge(records).ok).toBe(true)
    }
  })

  test('an acquire of unknown outcome stands in nobody’s way', () => {
    const records = [
      at(0, 'a', { kind: 'acquire-call', id: 'a', name: 'lock', ttl: 1_000, wait: 0, budget: 1_000 }),
      at(1, 'a', { kind: 'acquire-return', id: 'a', outcome: 'unknown' }),
      at(2, 'c', { kind: 'acquire-call', id: 'c', name: 'lock', ttl: 1_000, wait: 0, budget: 1_000 }),
      ...hold({ who: 'b', asked: 0, granted: 3, fence: 1n }),
    ]
    expect(judge(records).ok).toBe(true)
  })

  test('a recorded fault that ends leases excuses what comes after it, and nothing before', () => {
    const fault = (from: number) =>
      at(from, 'driver', { kind: 'fault', cause: 'flush', breaks: ['leases'], from, until: from })
    const records = [
      ...hold({ who: 'a', asked: 0, granted: 1, release: [50, 51], outcome: 'not-held' }),
      ...hold({ who: 'b', asked: 20, granted: 21 }),
    ]
    expect(judge([...records, fault(15)]).ok).toBe(true)
    expect(judge([...records, fault(30)]).ok).toBe(false)
  })

  test('a nested hold is no grant of the store, and grants handed on within a lease are one', () => {
    const outer = hold({ who: 'a', asked: 0, granted: 1, fence: 1n, release: [90, 91] })
    const [call, returned] = hold({ who: 'in', process: 'a', owner: 'a', asked: 5, granted: 6, fence: 1n })
    const nested = [call, { ...returned, within: 'a' }] as HistoryRecord[]
    expect(judge([...outer, ...nested]).ok).toBe(true)
    expect(judge([...outer, call, returned] as HistoryRecord[]).ok).toBe(false)
    const handedOn = [
      ...hold({ who: 'a1', process: 'a', owner: 'a', asked: 0, granted: 1, fence: 1n, release: [10, 10] }),
      ...hold({ who: 'a2', process: 'a', owner: 'a', asked: 0, granted: 11, fence: 2n, release: [20, 20] }),
    ]
    expect(judge([...handedOn, ...hold({ who: 'b', asked: 0, granted: 21, fence: 3n })]).ok).toBe(true)
    expect(judge([...handedOn, ...hold({ who: 'b', asked: 0, granted: 15, fence: 3n })]).ok).toBe(false)
  })

  test('several clashes are each told once', () => {
    const pair = (start: number) => [
      ...hold({ who: `a${start}`, asked: start, granted: start + 1, release: [start + 20, start + 21] }),
      ...hold({ who: `b${start}`, asked: start + 5, granted: start + 6, release: [start + 7, start + 8] }),
    ]
    expect(judge([...pair(0), ...pair(100), ...pair(200)]).violations).toHaveLength(3)
  })

  test('a lease lasts from its grant: three that fit in pairs do not fit together', () => {
    // Each lasts 47.5 ms at least, all were granted within 80 ms.
    const some = ['a', 'b', 'c'].map((who) => hold({ who, asked: 0, granted: 80, ttl: 50 }))
    expect(judge(some.slice(1).flat()).ok).toBe(true)
    const others = [-40, -30, -20, -10, 500, 510, 520].flatMap((time) =>
      hold({ who: `other${time}`, asked: time, granted: time + 1, release: [time + 2, time + 3] }),
    )
    const [violation, ...more] = judge([...some.flat(), ...others]).violations
    expect(more).toEqual([])
    expect(violation?.sentence).toBe('No order of these 3 grants of lock fits a fenced mutex.')
    expect(violation?.witness.map(({ process }) => process).sort()).toEqual(['a', 'a', 'b', 'b', 'c', 'c'])
  })
})

describe('INV-M1: the store told its order', () => {
  const event = (
    order: number,
    time: number,
    note: { event: 'grant' | 'renew' | 'free'; owner: string; fence?: bigint; expires?: number },
  ) => at(time, 'store', { kind: 'store', name: 'lock', order, fence: null, expires: null, ...note })

  test('a grant is legal when free: released, or expired by then', () => {
    const records = [
      event(1, 0, { event: 'grant', owner: 'a', fence: 1n, expires: 100 }),
      event(2, 50, { event: 'free', owner: 'a' }),
      event(3, 60, { event: 'grant', owner: 'b', fence: 2n, expires: 160 }),
      event(4, 90, { event: 'renew', owner: 'b', expires: 190 }),
      event(5, 190, { event: 'grant', owner: 'c', fence: 3n, expires: 290 }),
    ]
    expect(judge(records).ok).toBe(true)
  })

  test('a grant while held, and one whose fence falls, are violations', () => {
    const records = [
      event(1, 0, { event: 'grant', owner: 'a', fence: 5n, expires: 100 }),
      event(2, 60, { event: 'grant', owner: 'b', fence: 4n, expires: 160 }),
    ]
    expect(judge(records).violations.map(({ sentence }) => sentence)).toEqual([
      'The store granted lock to b while a held it.',
      'The store granted lock with the fence 4 after the fence 5.',
    ])
    const again = [
      event(1, 0, { event: 'grant', owner: 'a', fence: 5n, expires: 100 }),
      event(2, 100, { event: 'grant', owner: 'b', fence: 5n, expires: 200 }),
    ]
    expect(judge(again).violations).toHaveLength(1)
  })

  test('a lease that the store frees under its holder, and who excuses it', () => {
    const records = [
      event(1, 0, { event: 'grant', owner: 'a', fence: 1n, expires: 100 }),
      event(2, 50, { event: 'free', owner: 'a' }),
    ]
    const held = (end: { release?: [number, number]; lost?: number }) =>
      hold({ who: 'a', asked: 0, granted: 1, fence: 1n, ...end })
    const flush = at(50, 'd', { kind: 'fault', cause: 'flush', breaks: ['leases'], from: 49, until: 51 })
    expect(judge([...records, ...held({ release: [49, 51] })]).ok).toBe(true)
    expect(judge([...records, ...held({ lost: 49 })]).ok).toBe(true)
    expect(judge([...records, flush, ...held({ lost: 60 })]).ok).toBe(true)
    expect(witness([...records, ...held({ lost: 60 })])).toEqual([
      ['0 store store', '1 a acquire-return', '50 store store'],
    ])
  })

  test('a caller that was told of a grant the store does not know', () => {
    const records = [
      event(1, 0, { event: 'grant', owner: 'a', fence: 1n, expires: 100 }),
      ...hold({ who: 'a', asked: 0, granted: 1, fence: 1n, release: [2, 3] }),
      ...hold({ who: 'b', asked: 5, granted: 6, fence: 2n }),
    ]
    expect(judge(records).violations).toMatchObject([
      { sentence: expect.stringContaining('never granted') as string },
    ])
  })
})

describe('the search', { timeout: 60_000 }, () => {
  const slotsOf = (most: number, longest: number, fence: fc.Arbitrary<bigint | null>) =>
    fc.array(
      fc
        .record({
          from: fc.integer({ min: 0, max: 12 }),
          length: fc.integer({ min: 0, max: longest }),
          fence,
          end: fc.integer({ min: 0, max: 20 }),
          lasts: fc.option(fc.integer({ min: 0, max: 6 }), { nil: null }),
          confirmed: fc.option(fc.integer({ min: 0, max: 6 }), { nil: null }),
        })
        .map(({ from, length, fence, end, lasts, confirmed }): Slot => {
          const ends = lasts === null ? [{ from: end, until: Infinity }] : []
          const expiry = lasts === null ? null : { at: end, lasts }
          const window = confirmed === null ? null : { from: end, until: end + confirmed }
          return { from, until: from + length, fence, confirmed: window, expiry, ends }
        }),
      { maxLength: most },
    )

  test.each([
    [
      'few slots, some with fences',
      slotsOf(5, 12, fc.option(fc.bigInt({ min: 1n, max: 5n }), { nil: null })),
      2_000,
    ],
    ['more slots in each other’s way', slotsOf(7, 40, fc.constant(null)), 200],
  ])('finds an order exactly when trying all of them finds one: %s', (_what, slots, numRuns) => {
    fc.assert(
      fc.property(slots, (some) => {
        const order = linearise(some, 100_000)
        expect(order.kind).toBe(permutations(some).some(fitsInOrder) ? 'fits' : 'none')
        if (order.kind === 'fits')
          expect(fitsInOrder(order.order.map((index) => some[index] as Slot))).toBe(true)
      }),
      { numRuns },
    )
  })

  test('gives up at its bound and says so', () => {
    const records = mutexHistory({ seed: 1, grants: 50, processes: 3, fenced: false }).records
    const verdict = checkHistory(records, { searchLimit: 10 })
    expect(verdict).toMatchObject({ ok: false, violations: [], undecided: ['lock'] })
  })

  test('a slot ends in the first window that is not over when it is granted', () => {
    const ends = [
      { from: 5, until: 6 },
      { from: 20, until: Infinity },
    ]
    const some = { from: 0, until: 9, fence: null, confirmed: null, expiry: null, ends }
    expect([earliestEnd(some, 1), earliestEnd(some, 5.5), earliestEnd(some, 7)]).toEqual([5, 5.5, 20])
    const leased = { ...some, expiry: { at: 3, lasts: 4 }, ends: [] }
    expect([earliestEnd(leased, -5), earliestEnd(leased, 1)]).toEqual([3, 5])
  })
})

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]))
}

const shapes: fc.Arbitrary<Shape> = fc.record({
  seed: fc.integer({ min: 0 }),
  grants: fc.integer({ min: 2, max: 40 }),
  processes: fc.integer({ min: 1, max: 6 }),
  fenced: fc.boolean(),
})

describe('made-up histories', { timeout: 60_000 }, () => {
  test('those of a correct mutex keep every invariant', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const verdict = checkHistory(mutexHistory(shape).records)
        expect(verdict.ok, formatVerdict(verdict)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test('swapped fences are caught', () => {
    broken((records, [first, second], shape) => {
      if (!shape.fenced) return null
      const fences = new Map([first, second].map(({ id }) => [id, fenceOf(records, id)]))
      const swapped = (id: string) => fences.get(id === first.id ? second.id : first.id) ?? null
      const mutated = records.map((record) =>
        record.kind === 'acquire-return' && fences.has(record.id)
          ? { ...record, fence: swapped(record.id) }
          : record,
      )
      return { records: mutated, by: ['INV-M1'] }
    })
  })

  test('a release that is asked for only after the next grant is caught', () => {
    broken((records, [first, second]) => {
      if (first.expires <= second.returned + 30) return null
      const late = second.returned + 1
      const mutated = records.map((record) => {
        if (record.kind === 'release-call' && record.hold === first.id) return { ...record, time: late }
        if (record.kind === 'release-return' && record.id === `${first.id}-release`)
          return { ...record, time: late + 1 }
        return record
      })
      return { records: mutated, by: ['INV-M1', 'INV-M2'] }
    })
  })

  test('a release that is not there is caught while the lease lasts', () => {
    broken((records, [first, second]) => {
      if (first.expires <= second.returned + 30) return null
      const mutated = records.filter(
        (record) =>
          !(record.kind === 'release-call' && record.hold === first.id) &&
          !(record.kind === 'release-return' && record.id === `${first.id}-release`),
      )
      return { records: mutated, by: ['INV-M1'] }
    })
  })

  test('one grant told to two is caught', () => {
    broken((records, [first], shape) => {
      const copies = records
        .filter((record) => 'id' in record && record.id === first.id)
        .map((record) => ({ ...record, id: 'copy', process: 'other' }) as HistoryRecord)
      const later = at(1e6, 'other', { kind: 'end' })
      return {
        records: [...records, ...copies, later],
        by: shape.fenced ? ['INV-M1', 'INV-F1', 'INV-M2'] : ['INV-M1', 'INV-M2'],
      }
    })
  })
})

type Model = ReturnType<typeof mutexHistory>
type Pair = [Model['grants'][number], Model['grants'][number]]
type Mutated = { records: HistoryRecord[]; by: InvariantId[] } | null

/** Breaks a correct history between two grants that follow each other, and expects each named invariant to catch it. */
function broken(mutate: (records: HistoryRecord[], pair: Pair, shape: Shape) => Mutated): void {
  let tried = 0
  fc.assert(
    fc.property(shapes, fc.nat(), (shape, pick) => {
      const { records, grants } = mutexHistory({ ...shape, exact: true })
      const index = pick % (grants.length - 1)
      const pair = [grants[index], grants[index + 1]] as Pair
      // Only releases can be broken that were sent.
      const released = records.some((record) => record.kind === 'release-call' && record.hold === pair[0].id)
      const mutated = released ? mutate(records, pair, shape) : null
      if (mutated === null) return
      tried += 1
      for (const invariant of mutated.by) {
        const verdict = checkHistory(mutated.records, { only: [invariant], overlaps: 'assert' })
        expect(verdict.violations.length, invariant).toBeGreaterThan(0)
        // The witness is a proof: alone, it breaks the same.
        for (const { witness } of verdict.violations.filter(
          (violation) => violation.invariant === 'INV-M1',
        )) {
          expect(judge(witness).ok, formatWitness(witness)).toBe(false)
        }
      }
    }),
    { numRuns: 200 },
  )
  expect(tried).toBeGreaterThan(20)
}

function fenceOf(records: readonly HistoryRecord[], id: string): bigint | null {
  const found = records.find((record) => record.kind === 'acquire-return' && record.id === id)
  return found?.kind === 'acquire-return' ? found.fence : null
}

describe('size', () => {
  test.each([true, false])('a hundred thousand records of one name, with fences: %s', (fenced) => {
    const { records } = mutexHistory({ seed: 7, grants: 23_000, processes: 8, fenced })
    expect(records.length).toBeGreaterThan(100_000)
    const began = process.cpuUsage()
    const verdict = checkHistory(records)
    const { user, system } = process.cpuUsage(began)
    expect(verdict.ok, formatVerdict(verdict)).toBe(true)
    // In microseconds. About one second where it was written; what other programs take does not count.
    expect(user + system).toBeLessThan(5_000_000)
  })
})
