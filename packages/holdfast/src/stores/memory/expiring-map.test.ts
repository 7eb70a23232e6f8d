import { describe, expect, test } from 'vitest'
import { ExpiringMap } from './expiring-map.ts'

describe('ExpiringMap', () => {
  test('an entry is there until it expires, not at that instant any more', () => {
    const map = new ExpiringMap<string>()
    map.set('a', 'x', 100, 0)
    expect(map.get('a', 99)).toBe('x')
    expect(map.get('a', 100)).toBeNull()
    map.set('a', 'y', 300, 150)
    expect(map.get('a', 299)).toBe('y')
    map.delete('a')
    expect(map.get('a', 150)).toBeNull()
  })

  test('writes clear away what is over: what is kept stays in proportion to what is alive', () => {
    const map = new ExpiringMap<number>()
    for (let now = 0; now < 100_000; now += 1) map.set(`${now}`, now, now + 100, now)
    expect(map.size).toBeLessThan(300)
  })

  test('a sweep looks at no more than it was told, and goes on where the last one ended', () => {
    const map = new ExpiringMap<number>()
    for (let i = 0; i < 100; i += 1) map.set(`${i}`, i, i < 50 ? 10 : 1_000, 0)
    let cleared = 0
    for (let i = 0; i < 11; i += 1) {
      const now = map.sweep(10, 10)
      expect(now).toBeLessThanOrEqual(10)
      cleared += now
    }
    expect([cleared, map.size]).toEqual([50, 50])
  })
})
