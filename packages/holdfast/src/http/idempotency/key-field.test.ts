import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keyFieldOf } from './key-field.ts'

const read = (value: string | null, rawHeaders?: readonly string[]) =>
  keyFieldOf({
    method: 'POST',
    url: '/',
    headers: { get: (name) => (name === 'idempotency-key' ? value : null) },
    remoteAddress: undefined,
    rawHeaders,
  })

describe('Idempotency-Key', () => {
  test.each([
    ['"k"', 'k'],
    ['k', 'k'],
    ['  "k"  ', 'k'],
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['a/b+c==', 'a/b+c=='],
    ['"two words"', 'two words'],
    [String.raw`"a \"b\" \\ c"`, String.raw`a "b" \ c`],
    ['"k";v=1;w="x";y', 'k'],
    ['"k"; v=1', 'k'],
    ['k'.repeat(255), 'k'.repeat(255)],
  ])('F15: %s is %s', (value, key) => expect(read(value)).toEqual({ kind: 'key', key }))

  test.each([
    '',
    '  ',
    '""',
    '"k',
    'k"',
    '"k" x',
    '"k";',
    '"k"; V=1',
    'k;v=1',
    'k l',
    'k, k',
    '"k", "l"',
    String.raw`"a\b"`,
    'k\u00f6',
    '"\u00f6"',
    '\u{1f600}',
    'a\tb',
    '"a\tb"',
    '\u0000',
    'k'.repeat(256),
    `"${'k'.repeat(256)}"`,
  ])('F15: %j is refused', (value) => expect(read(value).kind).toBe('bad'))

  test('F15: two lines are refused, also where they look like one string', () => {
    const lines = ['Host', 'x', 'Idempotency-Key', '"a', 'idempotency-key', 'b"']
    expect(read('"a, b"', lines).kind).toBe('bad')
    expect(read('"a, b"', ['Idempotency-Key', '"a, b"'])).toEqual({ kind: 'key', key: 'a, b' })
  })

  test('none is none', () => expect(read(null)).toEqual({ kind: 'missing' }))

  test('whatever text is quoted comes back, and nothing that comes makes an error', () => {
    const printable = fc.string({
      unit: fc.constantFrom(...'abz019 "\\;,=/~!'),
      minLength: 1,
      maxLength: 255,
    })
    fc.assert(
      fc.property(printable, (key) => {
        expect(read(`"${key.replace(/["\\]/g, '\\$&')}"`)).toEqual({ kind: 'key', key })
      }),
    )
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (value) => void read(value)))
  })

  test('a value that is long and nearly right is refused in no time', () => {
    expect(read(`"${'a'.repeat(50_000)}";${'a=b;'.repeat(10_000)}\u0000`).kind).toBe('bad')
  })
})
