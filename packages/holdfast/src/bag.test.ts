import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Bag, NO_PLACE } from './bag.ts'

test('random changes: the same objects as in a Set', () => {
  const objects = Array.from({ length: 30 }, () => ({ place: NO_PLACE }))
  fc.assert(
    fc.property(fc.array(fc.nat({ max: objects.length - 1 })), (changes) => {
      const bag = new Bag<{ place: number }>()
      const set = new Set<object>()
      for (const index of changes) {
        const object = objects[index] as { place: number }
        if (set.delete(object)) bag.remove(object)
        else {
          set.add(object)
          bag.add(object)
        }
        expect(bag.size).toBe(set.size)
      }
      expect(new Set(bag.all())).toEqual(set)
      for (const object of objects) bag.remove(object)
      expect(bag.size).toBe(0)
    }),
  )
})
