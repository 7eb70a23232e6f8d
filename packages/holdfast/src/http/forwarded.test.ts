import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readForwarded, readXForwardedFor } from './forwarded.ts'

describe('X-Forwarded-For', () => {
  test('is a list, spaces and empty entries aside', () => {
    expect(readXForwardedFor(' 1.2.3.4 ,, 5.6.7.8:90,')).toEqual(['1.2.3.4', '5.6.7.8:90'])
    expect(readXForwardedFor('')).toEqual([])
  })
})

describe('Forwarded', () => {
  test.each([
    // Examples of RFC 7239, section 4.
    ['for="_gazonk"', ['_gazonk']],
    ['For="[2001:db8:cafe::17]:4711"', ['[2001:db8:cafe::17]:4711']],
    ['for=192.0.2.60;proto=http;by=203.0.113.43', ['192.0.2.60']],
    ['for=192.0.2.43, for=198.51.100.17', ['192.0.2.43', '198.51.100.17']],
    [
      'for=192.0.2.43,for="[2001:db8:cafe::17]",for=unknown',
      ['192.0.2.43', '[2001:db8:cafe::17]', 'unknown'],
    ],
    ['proto=https;by=203.0.113.43', ['']],
    ['by="a,b;for=6.6.6.6";for=1.2.3.4', ['1.2.3.4']],
    ['for="1.2.3.4\\"x"', ['1.2.3.4"x']],
    ['', []],
  ])('reads %j', (value, expected) => expect(readForwarded(value)).toEqual(expected))

  test.each([
    'for=6.6.6.6;x=", for=1.2.3.4',
    'for=", for=1.2.3.4',
    'for=6.6.6.6;x="\\, for="[2001:db8::1]";proto="https"',
  ])('is refused as a whole where a quotation of the client swallows what the proxy wrote: %j', (value) => {
    expect(readForwarded(value)).toBeNull()
  })

  test('whatever a client wrote, the last entry is what the proxy wrote, or all is refused', () => {
    const client = fc
      .array(fc.constantFrom('for=6.6.6.6', '"', '\\', ',', ';', 'x=', ' '))
      .map((parts) => parts.join(''))
    const proxy = fc.constantFrom(
      'for=1.2.3.4',
      'for="1.2.3.4"',
      'proto="https";for=1.2.3.4',
      'by="x";for="1.2.3.4"',
    )
    fc.assert(
      fc.property(client, proxy, (before, own) => {
        const entries = readForwarded(`${before}, ${own}`)
        if (entries !== null) expect(entries.at(-1)).toBe('1.2.3.4')
      }),
      { numRuns: 5_000 },
    )
  })
})
