import { expect, test } from 'vitest'
import { lockAddress, limitAddress } from '../../../name.ts'
import { slotOf } from './slot.ts'

test('slots are those of the specification', () => {
  // As CLUSTER KEYSLOT says; the lab's tests compare with a server.
  expect(slotOf('123456789')).toBe(0x31c3)
  expect(slotOf('foo')).toBe(12_182)
  expect(slotOf('')).toBe(0)
})

test('only the first tag counts, and an empty one is none', () => {
  expect(slotOf('a:{foo}:b')).toBe(slotOf('foo'))
  expect(slotOf('{foo}{bar}')).toBe(slotOf('foo'))
  expect(slotOf('{}foo')).not.toBe(slotOf('foo'))
  expect(slotOf('{{foo}}')).toBe(slotOf('{foo'))
  expect(slotOf('a{foo')).not.toBe(slotOf('foo'))
})

test.each(['a', '{', '}', '{}', 'a{', '}{', '{a}{b}', 'ä b', 'x'.repeat(1_000)])(
  'B9: all keys of one name share a slot: %s',
  (name) => {
    const { key, queueKey } = lockAddress('p:v1', name)
    expect(slotOf(queueKey)).toBe(slotOf(key))
    const exact = lockAddress('p:v1', name, 'their:lock')
    expect(slotOf(exact.queueKey)).toBe(slotOf(exact.key))
    const { key: limit } = limitAddress('p:v1', name, name)
    expect(slotOf(`${limit}:x`)).toBe(slotOf(limit))
  },
)
