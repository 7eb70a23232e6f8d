import { describe, expect, test } from 'vitest'
import { HitLog } from './hit-log.ts'

const logOf = (...hits: readonly (readonly [number, number])[]) =>
  hits.reduce((log, [time, weight]) => log.add(time, weight), HitLog.EMPTY)
const shown = (log: HitLog) => [...log].map(({ time, weight }) => [time, weight])

describe('HitLog', () => {
  test('hits of one millisecond are one', () => {
    const log = logOf([1, 2], [1, 3], [4, 1])
    expect(shown(log)).toEqual([
      [1, 5],
      [4, 1],
    ])
    expect(log.used).toBe(6)
  })

  test('two logs that come from one part ways, and neither changes the other', () => {
    const start = logOf([1, 1], [2, 1], [3, 1])
    const left = start.add(4, 10).add(5, 10)
    const right = start.add(4, 20).add(6, 20)
    const grown = start.add(3, 5)
    expect(shown(start)).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
    ])
    expect(shown(left)).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 10],
      [5, 10],
    ])
    expect(shown(right)).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 20],
      [6, 20],
    ])
    expect(shown(grown)).toEqual([
      [1, 1],
      [2, 1],
      [3, 6],
    ])
    expect(shown(logOf([9, 9]))).toEqual([[9, 9]])
  })

  test('after: drops what is at the edge and before it', () => {
    const log = logOf([1, 1], [2, 2], [3, 3])
    expect(shown(log.after(0))).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ])
    expect(log.after(0)).toBe(log)
    expect(shown(log.after(2))).toEqual([[3, 3]])
    expect(log.after(2).used).toBe(3)
    expect(log.after(3)).toBe(HitLog.EMPTY)
    expect(shown(log)).toHaveLength(3)
  })

  test('withoutOldest: drops a weight, also a part of a hit, and the newest last', () => {
    const log = logOf([1, 3], [2, 3], [3, 3])
    expect(shown(log.withoutOldest(1))).toEqual([
      [1, 2],
      [2, 3],
      [3, 3],
    ])
    expect(shown(log.withoutOldest(1).withoutOldest(1))).toEqual([
      [1, 1],
      [2, 3],
      [3, 3],
    ])
    expect(shown(log.withoutOldest(5))).toEqual([
      [2, 1],
      [3, 3],
    ])
    expect(shown(log.withoutOldest(8))).toEqual([[3, 1]])
    expect(log.withoutOldest(100).used).toBe(0)
    expect(log.withoutOldest(1).after(1).used).toBe(6)
    expect(log.withoutOldest(1).changed(1, -1)?.used).toBe(7)
  })

  test('changed: alters one hit, never below nothing, and no other', () => {
    const log = logOf([1, 3], [5, 3], [9, 3])
    expect(shown(log.changed(5, -2) ?? HitLog.EMPTY)).toEqual([
      [1, 3],
      [5, 1],
      [9, 3],
    ])
    expect(shown(log.changed(1, -9) ?? HitLog.EMPTY)).toEqual([
      [5, 3],
      [9, 3],
    ])
    expect(shown(log.changed(9, 4) ?? HitLog.EMPTY)).toEqual([
      [1, 3],
      [5, 3],
      [9, 7],
    ])
    for (const time of [0, 4, 6, 10]) expect(log.changed(time, -1)).toBeNull()
    expect(log.changed(9, -3)?.newestTime).toBe(5)
    expect(shown(log.changed(9, -3)?.add(12, 1) ?? HitLog.EMPTY)).toEqual([
      [1, 3],
      [5, 3],
      [12, 1],
    ])
  })

  test('pulledBackTo: what lies in the future is made now, together', () => {
    const log = logOf([1, 3], [5, 3], [9, 3])
    expect(shown(log.pulledBackTo(4))).toEqual([
      [1, 3],
      [4, 6],
    ])
    expect(shown(log.pulledBackTo(5))).toEqual([
      [1, 3],
      [5, 6],
    ])
    expect(log.pulledBackTo(9)).toBe(log)
  })

  test('a million hits: going on costs no copy of them', () => {
    let log = HitLog.from(Array.from({ length: 1_000_000 }, (_, time) => ({ time, weight: 1 })))
    for (let time = 1_000_000; time < 1_010_000; time += 1) log = log.add(time, 1).after(time - 1_000_000)
    expect([log.used, log.newestTime]).toEqual([1_000_000, 1_009_999])
    // Ten thousand copies would take minutes.
  })

  test('what has left is not kept', () => {
    let log = HitLog.EMPTY
    for (let time = 0; time < 100_000; time += 1) log = log.add(time, 1).after(time - 10)
    expect(log.used).toBe(10)
    expect(log.kept).toBeLessThan(100)
  })
})
