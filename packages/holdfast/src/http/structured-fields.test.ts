import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { integerItem, listMember } from './structured-fields.ts'

describe('a member of a list', () => {
  test('is a quoted name with parameters in their order, absent ones left out', () => {
    expect(listMember('default', { q: 100, qu: null, w: 60, pk: null })).toBe('"default";q=100;w=60')
  })

  test('holds bytes in base64 between colons', () => {
    expect(listMember('default', { r: 999, pk: Buffer.from('trial121323') })).toBe(
      '"default";r=999;pk=:dHJpYWwxMjEzMjM=:',
    )
  })

  test.each([
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['täglich', '"t%C3%A4glich"'],
    ['two\r\nSet-Cookie: x', '"two%0D%0ASet-Cookie: x"'],
    ['\u0000\u007f', '"%00%7F"'],
  ])('quotes the name %j', (name, expected) => expect(listMember(name, {})).toBe(expected))

  test('is one String of RFC 9651, whatever the name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(listMember(name, {})).toMatch(/^"([\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/)
      }),
    )
  })

  test('has integers only, of at most fifteen digits', () => {
    expect([-1, 0.9, 1.9, 2 ** 53].map(integerItem)).toEqual(['0', '0', '1', '999999999999999'])
  })
})
