import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InvalidArgumentError } from './errors.ts'
import { checkPrefix, encodePart, lockAddress, lockAddresses } from './name.ts'

/**
 * Goal: every name has a key of its own, that nobody can use to reach another's.
 * Method: known pairs from the wire format, and properties over hostile names. What was not shortened must decode to the
 * name itself, so that two names can never meet; for the shortened ones names are tried that were made to meet.
 */

const encode = (name: string): string => encodePart(name, 'name')
const bytesOf = (text: string): number => Buffer.byteLength(text, 'utf8')
const hashOf = (text: string): string => createHash('sha256').update(text, 'utf8').digest('base64url')

/** Pieces that mean something to the encoding, to Redis, to Lua or to a terminal. */
const piece = fc.oneof(
  fc.constantFrom(
    '{',
    '}',
    '{}',
    '|',
    '%',
    '%7B',
    '%25',
    '~',
    ':',
    '\0',
    '\n',
    ' ',
    '\u2028',
    '\u00a0',
    '😀',
    'é',
  ),
  fc.constantFrom('\u0085', '\ufeff', '\u3000', '#', ';trace=', ':lock', ':queue', '€'),
  fc.string({ unit: 'binary', maxLength: 6 }),
)
const short = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(''))
const long = fc.tuple(short, fc.integer({ min: 1, max: 120 })).map(([text, times]) => text.repeat(times))
const name = fc.oneof(short, long).filter((text) => text !== '')

/** Undoes the percent-encoding, written apart from it. */
function decode(encoded: string): string {
  const bytes: number[] = []
  for (let at = 0; at < encoded.length;) {
    const character = String.fromCodePoint(encoded.codePointAt(at) as number)
    if (character === '%') {
      bytes.push(parseInt(encoded.slice(at + 1, at + 3), 16))
      at += 3
    } else {
      bytes.push(...Buffer.from(character, 'utf8'))
      at += character.length
    }
  }
  return Buffer.from(bytes).toString('utf8')
}

describe('encoding of names', () => {
  test.each([
    ['order:pay:123', 'order:pay:123'],
    ['Ünïcödé/Straße😀', 'Ünïcödé/Straße😀'],
    ['two words', 'two%20words'],
    ['{}', '%7B%7D'],
    ['a{', 'a%7B'],
    ['}{a}|b', '%7D%7Ba%7D%7Cb'],
    ['100%', '100%25'],
    ['%7B', '%257B'],
    ['\0\t\r\n\u001f\u007f', '%00%09%0D%0A%1F%7F'],
    ['\u0085\u00a0\u2028\u2029\u3000\ufeff', '%C2%85%C2%A0%E2%80%A8%E2%80%A9%E3%80%80%EF%BB%BF'],
    ['a~b#c;d+e', 'a~b#c;d+e'],
  ])('%j is %j', (given, expected) => {
    expect(encode(given)).toBe(expected)
  })

  test('L10: no brace, bar, white space or control is left, and at most 512 bytes', () => {
    fc.assert(
      fc.property(name, (given) => {
        const encoded = encode(given)
        // eslint-disable-next-line no-control-regex
        expect(encoded).not.toMatch(/[{}|\s\u0000-\u001f\u007f-\u009f]/u)
        expect(encoded.replace(/%[0-9A-F]{2}/g, '')).not.toContain('%')
        expect(encoded.isWellFormed()).toBe(true)
        expect(bytesOf(encoded)).toBeLessThanOrEqual(512)
      }),
      { numRuns: 300 },
    )
  })

  test('L10: a name that was not shortened can be read back, so that no two share a key', () => {
    fc.assert(
      fc.property(name, (given) => {
        const encoded = encode(given)
        if (encoded.endsWith(`~${hashOf(given)}`)) return
        expect(decode(encoded)).toBe(given)
      }),
      { numRuns: 300 },
    )
  })

  test('L10: names made to meet another one do not', () => {
    fc.assert(
      fc.property(name, (given) => {
        const encoded = encode(given)
        const relatives = [
          encoded,
          encode(encoded),
          decode(given),
          given.normalize('NFC'),
          given.normalize('NFD'),
          given.toLowerCase(),
          given.trim(),
          given.slice(0, -1).toWellFormed(),
          `${given}~${hashOf(given)}`,
          `${given}\0`,
        ].filter((text) => text !== '' && text !== given && text.isWellFormed())
        for (const relative of relatives) expect(encode(relative)).not.toBe(encoded)
      }),
      { numRuns: 300 },
    )
  })

  test('L10: a name that is spelt like a shortened one does not meet it', () => {
    for (const whole of [
      'a'.repeat(600),
      'é'.repeat(500),
      '€'.repeat(400),
      '😀'.repeat(300),
      '{'.repeat(300),
    ]) {
      const shortened = encode(whole)
      const imitation = encode(decode(shortened))
      expect(imitation).not.toBe(shortened)
      expect(bytesOf(imitation)).toBeLessThanOrEqual(512)
      expect(encode(decode(imitation))).not.toBe(imitation)
    }
  })

  test('up to 512 bytes a name stays whole, beyond it is its first 448 and its hash', () => {
    expect(encode('a'.repeat(512))).toBe('a'.repeat(512))
    expect(encode('a'.repeat(513))).toBe(`${'a'.repeat(448)}~${hashOf('a'.repeat(513))}`)
    expect(encode('é'.repeat(256))).toBe('é'.repeat(256))
    expect(encode('é'.repeat(257))).toBe(`${'é'.repeat(224)}~${hashOf('é'.repeat(257))}`)
  })

  test('a long name is cut neither in a character nor in an escape', () => {
    for (let lead = 0; lead < 6; lead += 1) {
      for (const unit of ['€', '😀', '{', '\u2028']) {
        const whole = 'a'.repeat(lead) + unit.repeat(400)
        const [kept = ''] = encode(whole).split('~')
        expect(bytesOf(kept)).toBeGreaterThan(448 - 4)
        expect(bytesOf(kept)).toBeLessThanOrEqual(448)
        // A lone escape of a character of several bytes may be cut between its bytes, never within one.
        expect(kept.replace(/%[0-9A-F]{2}/g, '')).not.toContain('%')
        expect(kept).not.toContain('\ufffd')
      }
    }
  })

  test('long names that differ only at their ends differ, also those of 10 KB', () => {
    const base = 'order:'.repeat(1_700)
    const keys = ['a', 'b', 'ab', 'ba', ''].map((end) => encode(base + end))
    expect(new Set(keys).size).toBe(keys.length)
    for (const key of keys) expect(bytesOf(key)).toBeLessThanOrEqual(512)
  })

  test.each([
    ['an empty name', '', 'is empty'],
    ['a lone surrogate', 'a\ud800', 'lone surrogate'],
    ['a surrogate pair the wrong way round', '\udc00\ud800', 'lone surrogate'],
    ['a number', 12, 'is not a string'],
    ['nothing', undefined, 'is not a string'],
    ['null', null, 'is not a string'],
    ['a String object', Object('a') as unknown, 'is not a string'],
  ])('%s is refused', (_, given, problem) => {
    const refusal = thrownBy(() => encodePart(given, 'name'))
    expect(refusal).toBeInstanceOf(InvalidArgumentError)
    expect(refusal).toMatchObject({ option: 'name' })
    expect((refusal as Error).message).toContain(problem)
    expect((refusal as Error).message).toMatch(/^name: .+ Give /)
  })
})

describe('addresses', () => {
  test('follow the wire format', () => {
    expect(lockAddress('holdfast:v1', 'order:pay:123')).toEqual({
      name: 'order:pay:123',
      prefix: 'holdfast:v1',
      exactKey: null,
      key: 'holdfast:v1:{order:pay:123}:lock',
      queueKey: 'holdfast:v1:{order:pay:123}:queue',
      fenceKey: 'holdfast:v1:fence',
    })
  })

  test('B9: all keys of one lock have one hash tag, whatever the name', () => {
    fc.assert(
      fc.property(name, (given) => {
        const { key, queueKey } = lockAddress('p:v1', given)
        const [tag, ...more] = [...key.matchAll(/\{([^}]*)\}/g)].map(([, inside]) => inside)
        expect(more).toEqual([])
        expect(tag).toBe(encode(given))
        expect([...queueKey.matchAll(/\{([^}]*)\}/g)].map(([, inside]) => inside)).toEqual([tag])
      }),
    )
  })

  test('no key of one name is a key of another, or of an exact key', () => {
    const names = ['a', 'a:lock', 'a:queue', 'fence', 'wake', ':', 'exact', 'a}:lock', '{a', 'a:exact']
    const exact = ['a', 'p:{a}:lock:old', 'a}:exact:queue', 'p:{b}', 'exact']
    const keys = [
      ...names.map((each) => lockAddress('p', each)).flatMap(({ key, queueKey }) => [key, queueKey]),
      ...exact.map((each) => lockAddress('p', 'a', each)).flatMap(({ key, queueKey }) => [key, queueKey]),
      'p:fence',
    ]
    expect(new Set(keys).size).toBe(keys.length)
  })

  test.each([
    'p:fence',
    'p:epoch',
    'old:fence',
    'p:{a}:queue',
    'p:{x}:exact:queue',
    'p:{l|s}:limit',
    'old:{i|s|k}:once',
  ])('an exact key is none of our own that is no lock: %s', (key) => {
    const refusal = thrownBy(() => lockAddresses(['old', 'p'], 'a', key)) as InvalidArgumentError
    expect(refusal).toBeInstanceOf(InvalidArgumentError)
    expect(refusal.option).toBe('key')
  })

  test.each(['p:{a}:lock', 'p:a', 'p', 'fence', 'p:fences', 'q:{a}:queue'])(
    'but another may be one: %s',
    (key) => {
      expect(lockAddresses(['old', 'p'], 'a', key)).toMatchObject([{ prefix: 'p', key }])
    },
  )

  test('an exact key is taken as it is, its queue lies under the prefix', () => {
    expect(lockAddress('holdfast:v1', 'orders', 'locks/orders 1')).toMatchObject({
      name: 'orders',
      key: 'locks/orders 1',
      queueKey: 'holdfast:v1:{locks/orders 1}:exact:queue',
      fenceKey: 'holdfast:v1:fence',
    })
  })
})

describe('prefixes', () => {
  test.each(['holdfast:v1', 'a', 'shop-eu/locks_v2', 'ü:v1', 'x'.repeat(128)])('%j is one', (prefix) => {
    expect(checkPrefix(prefix, 'prefix')).toBe(prefix)
  })

  test.each([
    ['', '{a}', 'a{', 'a}', 'a|b', 'a%b', 'a b', 'a\n', '\0', 'a\u2028', 'x'.repeat(129), 'a\ud800'],
    [undefined, null, 1, {}, ['a']],
  ])('%j and such are none', (...given) => {
    for (const prefix of given) {
      const refusal = thrownBy(() => checkPrefix(prefix, 'alsoPrefix'))
      expect(refusal).toBeInstanceOf(InvalidArgumentError)
      expect(refusal).toMatchObject({ option: 'alsoPrefix' })
      expect((refusal as Error).message).toContain("as 'shop:v1'")
    }
  })
})

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('it did not throw')
}
