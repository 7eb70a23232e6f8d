import { expect, test } from 'vitest'
import { InvalidArgumentError } from '../errors.ts'
import { fingerprintOf } from './fingerprint.ts'

/**
 * Goal: equal payloads have equal fingerprints, others have others, and what has none is refused with its place.
 */

const same = (one: unknown, other: unknown) => expect(fingerprintOf(one)).toBe(fingerprintOf(other))

test('F11: the order of members does not count, nor how a number was written', () => {
  same({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2.0 }], a: 1.0 })
  same(JSON.parse('{"n":1.0,"m":1e2}'), { m: 100, n: 1 })
  same(-0, 0)
  same({ a: 1, b: undefined }, { a: 1 })
  same({ at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' })
})

test('F11: everything else does: another query, type, order of a list, place of a bracket', () => {
  const payloads: unknown[] = [
    null, true, 0, 1, '', '0', '1', 'null', [], {}, [1], ['1'], [[1]], [1, 2], [2, 1], { a: 1 }, { a: '1' }, { a: null },
    { a: { b: 1 } }, { 'a.b': 1 }, { path: '/pay?x=1' }, { path: '/pay?x=2' }, { a: 1, b: 2 }, { a: 12 }, [undefined, 1],
    Buffer.from('null'), Buffer.from(''), Buffer.from('{}'), { a: Buffer.from('x') }, { a: 'eA==' },
  ] // prettier-ignore
  const prints = payloads.map(fingerprintOf)
  expect(new Set(prints).size).toBe(payloads.length)
  for (const print of prints) expect(print).toMatch(/^[\w-]{43}$/)
})

test('bytes are one payload whatever holds them', () => {
  const bytes = Uint8Array.from([1, 2, 3, 4])
  same(bytes, Buffer.from(bytes))
  same(bytes, bytes.buffer)
  same(bytes, new Uint8Array([0, 1, 2, 3, 4, 5]).subarray(1, 5))
  same(bytes, new DataView(bytes.buffer))
})

test('objects without members are one payload, whatever made them', () => {
  class Empty {}
  for (const empty of [new Empty(), Object.create(null) as object])
    expect(fingerprintOf({ a: empty })).toBe(fingerprintOf({ a: {} }))
  expect(fingerprintOf(new URL('http://a/'))).toBe(fingerprintOf('http://a/'))
  expect(fingerprintOf(Object.assign(new Error('x'), { code: 7 }))).toBe(fingerprintOf({ code: 7 }))
})

test('the same object twice is no cycle', () => {
  const shared = { a: 1 }
  same([shared, shared], [{ a: 1 }, { a: 1 }])
})

const cyclic: Record<string, unknown> = {}
cyclic['items'] = [{ parent: cyclic }]
const deep = Array.from({ length: 2_000 }).reduce<unknown>((inner) => [inner], 1)

test.each([
  ['a cycle', cyclic, 'fingerprint.items[0].parent'],
  ['a BigInt', { price: 1n }, 'fingerprint.price'],
  ['a function', { items: [() => 1] }, 'fingerprint.items[0]'],
  ['a symbol', Symbol('x'), 'fingerprint'],
  ['NaN', { n: NaN }, 'fingerprint.n'],
  ['Infinity', [Infinity], 'fingerprint[0]'],
  ['a Map', { m: new Map() }, 'fingerprint.m'],
  ['a promise', Promise.resolve(1), 'fingerprint'],
  ['a promise within', { body: Promise.resolve(1) }, 'fingerprint.body'],
  ['a form', new FormData(), 'fingerprint'],
  ['parameters', [new URLSearchParams('a=1')], 'fingerprint[0]'],
  ['header fields', new Headers({ a: '1' }), 'fingerprint'],
  ['a blob', new Blob(['a']), 'fingerprint'],
  ['a request', new Request('http://a/', { method: 'POST', body: 'a' }), 'fingerprint'],
  ['an error', new Error('a'), 'fingerprint'],
  ['an iterator', [1][Symbol.iterator](), 'fingerprint'],
  ['shared memory', new SharedArrayBuffer(1), 'fingerprint'],
  ['a Set', new Set(), 'fingerprint'],
  ['too deep a nest', deep, 'fingerprint[0]'],
])('F11: %s is refused, and told where it is', (_name, payload, path) => {
  let error: unknown
  try {
    fingerprintOf(payload)
  } catch (caught) {
    error = caught
  }
  expect(error).toBeInstanceOf(InvalidArgumentError)
  expect((error as InvalidArgumentError).option.startsWith(path)).toBe(true)
})
