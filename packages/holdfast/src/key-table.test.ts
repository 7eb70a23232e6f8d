import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyTable, type Keyed } from './key-table.ts'

/** Goal: a KeyTable tells what a Map would. Method: both get the same random changes, with keys that collide. */

const entryOf = (key: string): Keyed => ({ key, hash: 0 })

test('random changes: the same entries as a Map, whatever collides', () => {
  const change = fc.record({ key: fc.integer({ min: 0, max: 400 }), adds: fc.boolean() })
  fc.assert(
    fc.property(fc.string(), fc.array(change, { maxLength: 2_000 }), (secret, changes) => {
      const table = new KeyTable<Keyed>(secret)
      const map = new Map<string, Keyed>()
      for (const { key: number, adds } of changes) {
        const key = `k${number}`
        const there = map.get(key)
        expect(table.get(key)).toBe(there)
        if (there === undefined && adds) {
          const entry = entryOf(key)
          map.set(key, entry)
          table.add(entry)
        } else if (there !== undefined && !adds) {
          map.delete(key)
          table.remove(there)
          // What is not in it takes no other along.
          table.remove(there)
        }
        expect(table.size).toBe(map.size)
      }
      expect(new Set(table.all())).toEqual(new Set(map.values()))
      for (const [key, entry] of map) expect(table.get(key)).toBe(entry)
    }),
    { numRuns: 60 },
  )
})

test('a crowd that came and went leaves it small, and quick to go through', () => {
  const table = new KeyTable<Keyed>('')
  const entries = Array.from({ length: 20_000 }, (_, i) => entryOf(`holdfast:v1:{order:${i}}:lock`))
  for (const entry of entries) table.add(entry)
  expect(table.all()).toHaveLength(20_000)
  for (const entry of entries.slice(10)) table.remove(entry)
  expect(new Set(table.all())).toEqual(new Set(entries.slice(0, 10)))
  for (const entry of entries.slice(0, 10)) expect(table.get(entry.key)).toBe(entry)
  expect(table.get('order')).toBeUndefined()
})
