import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { InvalidArgumentError } from '../errors.ts'
import { clientAddress, NO_ADDRESS, type ClientAddressOptions } from './client-address.ts'
import type { HttpRequest } from './request.ts'

const requestOf = (remoteAddress: string | undefined, headers: Record<string, string> = {}): HttpRequest => ({
  method: 'GET',
  url: '/',
  headers: new Headers(headers),
  remoteAddress,
})

let warnings: string[]
beforeEach(() => {
  warnings = []
  vi.spyOn(process, 'emitWarning').mockImplementation((_text, options) => {
    const { type, code } = options as { type: string; code: string }
    warnings.push(`${type} ${code}`)
  })
})
afterEach(() => vi.restoreAllMocks())

/** The key of a request with this `X-Forwarded-For`. */
const keyOf = (options: ClientAddressOptions, remoteAddress: string | undefined, forwarded?: string) =>
  clientAddress(options)(
    requestOf(remoteAddress, forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
  )

describe('the key of a client', () => {
  test('E27: an IPv4 address has one key, however the socket spells it', () => {
    for (const text of [
      '::ffff:1.2.3.4',
      '::ffff:102:304',
      '1.2.3.4',
      '::FFFF:1.2.3.4',
      '0:0:0:0:0:ffff:102:304',
    ])
      expect(keyOf({}, text)).toBe('1.2.3.4')
  })

  test('E27: IPv6 addresses of one /64 have one key, those of another /64 another', () => {
    expect(keyOf({}, '2001:db8:0:1::1')).toBe('2001:db8:0:1::/64')
    expect(keyOf({}, '2001:DB8:0:1:ffff:ffff:ffff:ffff')).toBe('2001:db8:0:1::/64')
    expect(keyOf({}, '2001:db8:0:2::1')).toBe('2001:db8:0:2::/64')
  })

  test('the length of the prefix is a choice, and leaves IPv4 alone', () => {
    expect(keyOf({ ipv6Prefix: 48 }, '2001:db8:0:1::1')).toBe('2001:db8::/48')
    expect(keyOf({ ipv6Prefix: 128 }, '2001:db8:0:1::1')).toBe('2001:db8:0:1::1')
    expect(keyOf({ ipv6Prefix: 48 }, '::ffff:1.2.3.4')).toBe('1.2.3.4')
  })

  test('E27: zone ids and ports never throw', () => {
    expect(keyOf({}, 'fe80::1%eth0')).toBe('fe80::/64')
    expect(keyOf({ trustedHops: 1 }, '10.0.0.1', '[2001:db8::1]:80')).toBe('2001:db8::/64')
    expect(keyOf({ trustedHops: 1 }, '10.0.0.1', '1.2.3.4:5678')).toBe('1.2.3.4')
    expect(keyOf({ trustedHops: 1 }, '10.0.0.1', 'fe80::1%eth0')).toBe('fe80::/64')
  })

  test('clients without an address share one', () => {
    expect(keyOf({}, undefined)).toBe(NO_ADDRESS)
    expect(keyOf({}, '')).toBe(NO_ADDRESS)
  })
})

describe('trust', () => {
  test('E27: by default no forwarded address counts', () => {
    expect(keyOf({}, '203.0.113.9', '1.2.3.4')).toBe('203.0.113.9')
  })

  test.each([
    [0, '6.6.6.6, 1.2.3.4', '10.0.0.1'],
    [1, '6.6.6.6, 1.2.3.4', '1.2.3.4'],
    [2, '6.6.6.6, 1.2.3.4, 10.0.0.2', '1.2.3.4'],
    [2, '1.2.3.4', '1.2.3.4'],
    [1, undefined, '10.0.0.1'],
    [1, '', '10.0.0.1'],
  ])('E27: with %i hops and %j the client is %s', (trustedHops, forwarded, expected) => {
    expect(keyOf({ trustedHops }, '10.0.0.1', forwarded)).toBe(expected)
  })

  const proxies = ['10.0.0.0/8', 'fd00::/8']
  test.each([
    ['10.0.0.1', '6.6.6.6, 1.2.3.4', '1.2.3.4'],
    ['10.0.0.1', '6.6.6.6, 1.2.3.4, 10.0.0.2', '1.2.3.4'],
    ['::ffff:10.0.0.1', '6.6.6.6, 1.2.3.4, [fd00::1]:80', '1.2.3.4'],
    ['203.0.113.9', '6.6.6.6', '203.0.113.9'],
    ['10.0.0.1', '10.0.0.7, 10.0.0.2', '10.0.0.7'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    [undefined, '6.6.6.6', NO_ADDRESS],
  ])('E27: from %s with %j, by addresses of proxies, the client is %s', (peer, forwarded, expected) => {
    expect(keyOf({ trustedProxies: proxies }, peer, forwarded)).toBe(expected)
  })

  test('E27: the leftmost address counts where everybody is said to be trusted', () => {
    const everybody = { trustedProxies: ['0.0.0.0/0', '::/0'] }
    expect(keyOf(everybody, '10.0.0.1', '6.6.6.6, 1.2.3.4')).toBe('6.6.6.6')
  })

  test('E27: whatever a client writes, its own address is its key behind one proxy', () => {
    const part = fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.constantFrom(',', ' ', '"', '[', '10.0.0.1'))
    const made = fc.array(part).map((parts) => parts.join('').replace(/[^\x20-\x7e]/g, ''))
    const byHops = clientAddress({ trustedHops: 1 })
    const byAddress = clientAddress({ trustedProxies: proxies })
    fc.assert(
      fc.property(made, (text) => {
        const request = requestOf('10.0.0.1', { 'x-forwarded-for': `${text}, 198.51.100.7` })
        expect([byHops(request), byAddress(request)]).toEqual(['198.51.100.7', '198.51.100.7'])
      }),
    )
    expect(warnings).toEqual([])
  })

  test('reads Forwarded where that is said, and then nothing else', () => {
    const key = clientAddress({ trustedHops: 1, header: 'forwarded' })
    const headers = {
      forwarded: 'for=6.6.6.6, for="[2001:db8::1]:80";proto=https',
      'x-forwarded-for': '7.7.7.7',
    }
    expect(key(requestOf('10.0.0.1', headers))).toBe('2001:db8::/64')
    expect(key(requestOf('10.0.0.1', { 'x-forwarded-for': '7.7.7.7' }))).toBe('10.0.0.1')
  })
})

describe('nonsense', () => {
  test.each([
    ['x-forwarded-for', 'unknown'],
    ['x-forwarded-for', '1.2.3.4, _hidden'],
    ['x-forwarded-for', '1.2.3.4:'],
    ['x-forwarded-for', '9'.repeat(8_000)],
    ['forwarded', 'for=unknown'],
    ['forwarded', 'proto=https'],
    ['forwarded', 'for=1.2.3.4, for=6.6.6.6;x=", for=7.7.7.7'],
  ] as const)('E27: in %s (%j) the socket counts, and it is told once', (header, value) => {
    const key = clientAddress({ trustedHops: 1, header })
    for (let n = 0; n < 3; n += 1) expect(key(requestOf('10.0.0.1', { [header]: value }))).toBe('10.0.0.1')
    expect(warnings).toEqual(['HoldfastWarning HOLDFAST_FORWARDED_UNREADABLE'])
  })

  test('in a place that does not count is nobody’s business', () => {
    expect(keyOf({ trustedHops: 1 }, '10.0.0.1', 'nonsense, 1.2.3.4')).toBe('1.2.3.4')
    expect(keyOf({ trustedProxies: ['10.0.0.0/8'] }, '10.0.0.1', 'nonsense, 1.2.3.4')).toBe('1.2.3.4')
    expect(warnings).toEqual([])
  })
})

describe('a proxy that was not declared', () => {
  test.each(['x-forwarded-for', 'forwarded'])('is warned of once (%s)', (header) => {
    const key = clientAddress()
    key(requestOf('10.0.0.1'))
    expect(warnings).toEqual([])
    for (let n = 0; n < 3; n += 1) key(requestOf('10.0.0.1', { [header]: 'for=1.2.3.4' }))
    expect(warnings).toEqual(['HoldfastWarning HOLDFAST_UNDECLARED_PROXY'])
  })

  test('is none where it was said that there is none', () => {
    clientAddress({ trustedHops: 0 })(requestOf('10.0.0.1', { 'x-forwarded-for': '1.2.3.4' }))
    clientAddress({ trustedProxies: [] })(requestOf('10.0.0.1', { 'x-forwarded-for': '1.2.3.4' }))
    expect(warnings).toEqual([])
  })
})

describe('bad options', () => {
  test.each<[object, string]>([
    [{ trustedHops: -1 }, 'trustedHops'],
    [{ trustedHops: 1.5 }, 'trustedHops'],
    [{ trustedHops: true }, 'trustedHops'],
    [{ trustedHops: Infinity }, 'trustedHops'],
    [{ trustedHops: 1, trustedProxies: ['10.0.0.0/8'] }, 'trustedHops'],
    [{ trustedProxies: '10.0.0.0/8' }, 'trustedProxies'],
    [{ trustedProxies: ['10.0.0.0/8', 'nginx'] }, 'trustedProxies[1]'],
    [{ header: 'x-real-ip' }, 'header'],
    [{ ipv6Prefix: 0 }, 'ipv6Prefix'],
    [{ ipv6Prefix: 129 }, 'ipv6Prefix'],
    [{ trustedHop: 1 }, 'clientAddress.trustedHop'],
  ])('%j is refused, naming the option', (options, option) => {
    const make = () => clientAddress(options)
    expect(make).toThrow(InvalidArgumentError)
    expect(make).toThrow(expect.objectContaining({ option }) as Error)
  })
})
