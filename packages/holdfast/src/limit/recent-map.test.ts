import { describe, expect, test } from 'vitest'
import { RecentMap } from './recent-map.ts'

describe('a map of what is recent', () => {
  test('keeps at most its capacity, and what is in use', () => {
    const gone: number[] = []
    const map = new RecentMap<number>(100, (value) => gone.push(value))
    map.set('used', -1)
    for (let i = 0; i < 1_000; i += 1) {
      map.set(`k${i}`, i)
      expect(map.get('used')).toBe(-1)
      expect(map.size).toBeLessThanOrEqual(100)
    }
    expect(map.get('k999')).toBe(999)
    expect(map.get('k0')).toBeUndefined()
    expect(gone).not.toContain(-1)
    // What is not there any more was told, each once.
    expect(new Set(gone).size).toBe(gone.length)
    expect(gone.length + map.size).toBe(1_001)
  })

  test('what is deleted is gone, from both generations', () => {
    const map = new RecentMap<number>(4)
    map.set('a', 1)
    map.set('b', 2)
    map.set('c', 3)
    map.delete('a')
    map.delete('c')
    expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([undefined, 2, undefined, 1])
    expect(map.drain()).toEqual([2])
    expect(map.size).toBe(0)
  })

  test('is quick when it is full', () => {
    const map = new RecentMap<number>(10_000)
    const began = performance.now()
    for (let i = 0; i < 1_000_000; i += 1) map.set(String(i), i)
    // About 0.3 s; with one map whose first entry is deleted it takes half a minute.
    expect(performance.now() - began).toBeLessThan(5_000)
  })
})
