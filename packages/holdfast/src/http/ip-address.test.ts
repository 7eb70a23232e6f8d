import { isIP, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { firstBits, formatIp, isIpv4, parseIp, parseNode } from './ip-address.ts'

/**
 * Goal: every spelling of an address is one address, and nothing else is one.
 * Method: node:net says what an address is, and the URL parser writes it in its one form; neither is used by the code.
 */

const written = (text: string) => {
  const address = parseIp(text)
  return address === null ? null : formatIp(address)
}

/** The form of RFC 5952, by another implementation. */
const canonical = (text: string) => new URL(`http://[${text}]/`).hostname.slice(1, -1)

/** Names of interfaces that node:net does not know (`veth_1`, `if@2`), and we let pass. */
const STRANGE_ZONE = /%[^%]*[^\w.:-]|%[^%]*_/

const MAPPED = /^::ffff:[\da-f]{1,4}:[\da-f]{1,4}$/

describe('parseIp', () => {
  test.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::ffff:102:304', '1.2.3.4'],
    ['0:0:0:0:0:FFFF:0102:0304', '1.2.3.4'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8::0:1', '2001:db8::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
    ['fe80::1%eth0', 'fe80::1'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
  ])('reads %s as %s', (text, expected) => expect(written(text)).toBe(expected))

  test.each([
    '',
    ' ',
    'unknown',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '0x1.2.3.4',
    '1.2.3.4%eth0',
    ':::',
    '1::2::3',
    ':1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8',
    '12345::',
    'g::',
    '1.2.3.4::',
    '::1.2.3.4:5',
    'fe80::1%',
    '%eth0',
    '1'.repeat(10_000),
  ])('refuses %j', (text) => expect(parseIp(text)).toBeNull())

  test('says of any text what node:net says of it', () => {
    const part = fc.constantFrom(
      '0',
      '1',
      'ffff',
      'db8',
      '00',
      '.',
      ':',
      '::',
      '256',
      '%',
      'e',
      ' ',
      '/',
      '[',
    )
    const text = fc.oneof(
      fc.string(),
      fc.array(part, { maxLength: 16 }).map((parts) => parts.join('')),
      fc.ipV4(),
      fc.ipV6(),
    )
    fc.assert(
      fc.property(text, (each) => STRANGE_ZONE.test(each) || (parseIp(each) !== null) === (isIP(each) !== 0)),
      { numRuns: 2_000 },
    )
  })

  test('writes every IPv6 address as the URL parser does, but mapped ones dotted', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const expected = canonical(text)
        if (!MAPPED.test(expected)) expect(written(text)).toBe(expected)
        else expect(canonical(`::ffff:${written(text)}`)).toBe(expected)
      }),
    )
  })

  test('E27: an IPv4 address and all its mapped spellings are the same bits', () => {
    fc.assert(
      fc.property(fc.ipV4(), (text) => {
        const hex = canonical(`::ffff:${text}`)
        const long = `0:0:0:0:0:ffff:${text}`
        for (const spelling of [text, `::ffff:${text}`, `::FFFF:${text}`, hex, long])
          expect(written(spelling)).toBe(text)
      }),
    )
  })

  test('is not fooled by addresses that only look mapped', () => {
    for (const text of ['::fffe:102:304', '1::ffff:102:304', '::ffff:0:102:304', '::1.2.3.4'])
      expect(isIpv4(parseIp(text) ?? [])).toBe(false)
  })
})

describe('parseNode', () => {
  const node = (text: string) => {
    const address = parseNode(text)
    return address === null ? null : formatIp(address)
  }

  test.each([
    ['1.2.3.4:5678', '1.2.3.4'],
    [' 1.2.3.4 ', '1.2.3.4'],
    ['[::1]:80', '::1'],
    ['[::1]', '::1'],
    ['::1', '::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%eth0]:80', 'fe80::1'],
    ['[::ffff:1.2.3.4]:80', '1.2.3.4'],
    ['192.0.2.43:_port', '192.0.2.43'],
  ])('E27: reads %j as %s', (text, expected) => expect(node(text)).toBe(expected))

  test.each([
    '',
    'unknown',
    '_hidden',
    '[',
    ']',
    '[]',
    '[]:80',
    '[::1',
    '[::1]80',
    '[::1]:',
    '[::1]:123456',
    '[1.2.3.4]:80',
    '1.2.3.4:',
    '1.2.3.4:http',
    'host:80',
    ':80',
    '<script>',
    '\u0000',
  ])('refuses %j', (text) => expect(node(text)).toBeNull())

  test('E27: never throws, whatever a client writes', () => {
    const part = fc.constantFrom('[', ']', ':', '::', '%', '.', '1', '255', 'ffff', ' ', '"', '\\', 'unknown')
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(part).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, (each) => {
        const address = parseNode(each)
        if (address !== null) expect(isIP(formatIp(address))).not.toBe(0)
      }),
      { numRuns: 2_000 },
    )
  })

  test('reads any address with any port', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.integer({ min: 0, max: 65_535 }), (text, port) => {
        expect(node(isIPv6(text) ? `[${text}]:${port}` : `${text}:${port}`)).toBe(written(text))
      }),
    )
  })
})

describe('firstBits', () => {
  test.each([
    ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2::'],
    ['2001:db8:1:2:3:4:5:6', 56, '2001:db8:1::'],
    ['2001:db8:1:ffff:3:4:5:6', 52, '2001:db8:1:f000::'],
    ['2001:db8:1:2:3:4:5:6', 128, '2001:db8:1:2:3:4:5:6'],
    ['ffff::', 1, '8000::'],
  ])('of %s, %i of them, is %s', (text, bits, expected) => {
    expect(formatIp(firstBits(parseIp(text) ?? [], bits))).toBe(expected)
  })
})
