import { describe, expect, test } from 'vitest'
import { createHoldfast } from '../holdfast.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { readFence, type FenceSource } from './fence-source.ts'

describe('what a guard compares', () => {
  test('a held lock brings its fence and its name', async () => {
    const hf = createHoldfast({ store: memoryStore() })
    await hf.lock('order:1').run(async (held) => {
      expect(readFence(held)).toEqual({ value: held.fence, lock: 'order:1' })
      expect(held.fences).toBe('clocked')
    })
    await hf.close()
  })

  test('a held lock of a store that promises no order is refused, though it has a number', async () => {
    const store = memoryStore()
    const hf = createHoldfast({ store: { ...store, traits: { ...store.traits, fences: 'none' } } })
    await hf.lock('order:1').run(async (held) => {
      expect(() => readFence(held)).toThrow('cannot promise that fences rise')
    })
    await hf.close()
  })

  test('types refuse what carries no fence, and a hold known to promise no order', () => {
    const take = (source: FenceSource): FenceSource => source
    take(5n)
    take({ name: 'l', fence: 5n, fences: 'strict' })
    // @ts-expect-error a number loses digits
    take(5)
    // @ts-expect-error a read hold, a permit, a quorum without fences
    take({ name: 'l', fence: null })
    // @ts-expect-error a permit
    take({ name: 'l' })
    expect(() => readFence({ name: 'l' })).toThrow('carries no fence')
  })
})
