import { BlockList, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InvalidArgumentError } from '../errors.ts'
import { parseIp } from './ip-address.ts'
import { contains, parseNetwork } from './network.ts'

const holds = (range: string, text: string) => contains(parseNetwork(range, 'range'), parseIp(text) ?? [])

describe('a network', () => {
  test.each([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['10.1.2.3/8', '10.9.9.9', true],
    ['10.0.0.1', '10.0.0.1', true],
    ['10.0.0.1', '10.0.0.2', false],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '203.0.113.9', false],
    ['fd00::/8', 'fdff::1', true],
    ['fd00::/8', 'fe00::1', false],
    ['::ffff:10.0.0.0/104', '10.200.0.1', true],
    ['::1', '::1', true],
  ])('%s and %s: %s', (range, text, expected) => expect(holds(range, text)).toBe(expected))

  test('holds what the block list of node:net holds', () => {
    const ranges = fc.oneof(
      fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })),
      fc.tuple(fc.ipV6(), fc.integer({ min: 1, max: 128 })),
    )
    const flips = fc.integer({ min: 0, max: 127 })
    fc.assert(
      fc.property(ranges, fc.oneof(fc.ipV4(), fc.ipV6()), flips, ([base, bits], text, flip) => {
        const family = isIPv6(base) ? 'ipv6' : 'ipv4'
        const list = new BlockList()
        list.addSubnet(base, bits, family)
        const other = isIPv6(text) ? 'ipv6' : 'ipv4'
        // Mapped spellings are IPv4 to us and, in part, IPv6 to the block list.
        if (/ffff/i.test(base + text)) return
        if (family === other) expect(holds(`${base}/${bits}`, text)).toBe(list.check(text, other))
        // A neighbour of the base: one bit changed.
        if (family === 'ipv4') {
          const neighbour = base.split('.').map(Number)
          const at = (flip >> 3) & 3
          neighbour[at] = (neighbour[at] ?? 0) ^ (1 << (flip & 7))
          expect(holds(`${base}/${bits}`, neighbour.join('.'))).toBe(list.check(neighbour.join('.'), 'ipv4'))
        }
      }),
    )
  })

  test.each([
    '',
    'localhost',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/-1',
    '10.0.0.0/',
    'fe80::1%eth0',
    '10/8',
    null,
    8,
  ])('refuses %j, naming option, value and remedy', (text) => {
    const refused = () => parseNetwork(text, 'trustedProxies[0]')
    expect(refused).toThrow(InvalidArgumentError)
    expect(refused).toThrow(/^trustedProxies\[0\]: .*CIDR/)
  })
})
