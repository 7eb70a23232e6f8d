import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RespError } from '../../src/index.ts'
import { decodeCommand, encodeCommand } from '../../src/resp/commands.ts'
import { decodeReply } from '../../src/resp/replies.ts'
import { ReplyFramer } from '../../src/resp/reply-framer.ts'
import { RequestParser } from '../../src/resp/request-parser.ts'

/** Cuts bytes at the given places, wherever they fall. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...sorted].map((from, i) => bytes.subarray(from, sorted[i] ?? bytes.length))
}

const places = fc.array(fc.nat(), { maxLength: 40 })
const binary = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))

describe('commands of a client', () => {
  const command = fc.array(binary, { minLength: 1, maxLength: 6 })

  function parse(chunks: readonly Buffer[]): {
    commands: Buffer[][]
    names: string[]
    passed: Buffer
    rest: Buffer
  } {
    const commands: Buffer[][] = []
    const names: string[] = []
    const passed: Buffer[] = []
    const parser = new RequestParser((bytes, start, end, nameStart, nameEnd) => {
      commands.push(decodeCommand(Buffer.from(bytes.subarray(start, end))))
      names.push(bytes.toString('latin1', nameStart, nameEnd))
    })
    for (const chunk of chunks) {
      const whole = parser.push(chunk)
      if (whole !== undefined) passed.push(Buffer.from(whole))
      expect(parser.unreadable).toBeUndefined()
    }
    return { commands, names, passed: Buffer.concat(passed), rest: parser.takeUnfinished() }
  }

  test('are found whole and unchanged wherever the stream is cut', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 8 }), places, (sent, at) => {
        const stream = Buffer.concat(sent.map(encodeCommand))
        const seen = parse(cut(stream, at))
        expect(seen.commands).toEqual(sent)
        expect(seen.names).toEqual(sent.map(([name]) => name?.toString('latin1')))
        expect(seen.passed.equals(stream)).toBe(true)
        expect(seen.rest.length).toBe(0)
      }),
      { numRuns: 500, seed: 2 },
    )
  })

  test('are found byte by byte', () => {
    const sent = [
      ['SET', 'a\r\n*1\r\n$4\r\nPING\r\n', ''],
      ['GET', 'é'],
    ]
    const stream = Buffer.concat(sent.map(encodeCommand))
    const bytes = [...stream].map((byte) => Buffer.from([byte]))
    expect(parse(bytes).commands.map((one) => one.map(String))).toEqual(sent)
  })

  test('keep what is behind the last whole one', () => {
    const stream = Buffer.concat([encodeCommand(['PING']), encodeCommand(['GET', 'key']).subarray(0, 9)])
    const seen = parse([stream])
    expect(seen.names).toEqual(['PING'])
    expect(seen.rest.toString()).toBe('*2\r\n$3\r\nG')
  })

  test('a large value in many chunks is put together once', () => {
    const value = Buffer.alloc(8_000_000, 'x')
    const stream = encodeCommand(['SET', 'large', value])
    const chunks = Array.from({ length: Math.ceil(stream.length / 1000) }, (_, i) =>
      stream.subarray(i * 1000, (i + 1) * 1000),
    )
    const started = performance.now()
    expect(parse(chunks).commands[0]?.[2]?.length).toBe(value.length)
    expect(performance.now() - started).toBeLessThan(5_000)
  })

  test.each(['PING\r\n', '*1\r\n+PING\r\n', '*x\r\n', '\u0016\u0003\u0001'])(
    'a stream that is something else is told, and no byte of it is lost: %j',
    (odd) => {
      const parser = new RequestParser(() => {})
      const whole = parser.push(Buffer.concat([encodeCommand(['GET', 'a']), Buffer.from(odd)]))
      expect(parser.unreadable?.message).toMatch('not RESP')
      expect(whole).toEqual(encodeCommand(['GET', 'a']))
      expect(parser.takeUnfinished().toString()).toBe(odd)
    },
  )
})

/** A reply, as its bytes, with the value it stands for. */
const reply: fc.Arbitrary<{ bytes: Buffer; value: unknown }> = fc.letrec<{
  any: { bytes: Buffer; value: unknown }
  leaf: { bytes: Buffer; value: unknown }
}>((tie) => {
  const word = fc.string({ unit: fc.constantFrom('a', 'B', '1', ' ', '*', '$'), maxLength: 12 })
  const bulk =
    (type: string, prefix = '') =>
    (text: string) => {
      const bytes = Buffer.from(prefix + text)
      return Buffer.concat([Buffer.from(`${type}${bytes.length}\r\n`), bytes, Buffer.from('\r\n')])
    }
  const line = (bytes: string, value: unknown) => ({ bytes: Buffer.from(`${bytes}\r\n`), value })
  const list = (type: string, items: { bytes: Buffer; value: unknown }[]) => ({
    bytes: Buffer.concat([Buffer.from(`${type}${items.length}\r\n`), ...items.map((item) => item.bytes)]),
    value: items.map((item) => item.value),
  })
  return {
    leaf: fc.oneof(
      word.map((text) => line(`+${text}`, text)),
      word.map((text) => line(`-ERR ${text}`, new RespError(`ERR ${text}`))),
      fc.integer().map((number) => line(`:${number}`, number)),
      fc.bigInt({ min: 2n ** 60n, max: 2n ** 62n }).map((number) => line(`:${number}`, number)),
      fc.bigInt().map((number) => line(`(${number}`, number)),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => line(`,${number}`, number)),
      fc.constantFrom(
        line('_', null),
        line('$-1', null),
        line('*-1', null),
        line('#t', true),
        line('#f', false),
      ),
      fc.constantFrom(
        line(',inf', Infinity),
        line(',-inf', -Infinity),
        line('*0', []),
        line('%0', new Map()),
      ),
      fc.string().map((text) => ({ bytes: bulk('$')(text), value: text })),
      fc.string().map((text) => ({ bytes: bulk('=', 'txt:')(text), value: text })),
      fc.string().map((text) => ({ bytes: bulk('!')(`ERR ${text}`), value: new RespError(`ERR ${text}`) })),
    ),
    any: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      tie('leaf'),
      fc.array(tie('any'), { maxLength: 4 }).map((items) => list('*', items)),
      fc.array(tie('any'), { maxLength: 4 }).map((items) => list('~', items)),
      fc.array(fc.tuple(fc.string(), tie('any')), { maxLength: 3 }).map((pairs) => ({
        bytes: Buffer.concat([
          Buffer.from(`%${pairs.length}\r\n`),
          ...pairs.flatMap(([key, item]) => [bulk('$')(key), item.bytes]),
        ]),
        value: new Map(pairs.map(([key, item]) => [key, item.value])),
      })),
      // An attribute in front belongs to the value behind it.
      tie('any').map((item) => ({
        bytes: Buffer.concat([Buffer.from('|1\r\n+ttl\r\n:3600\r\n'), item.bytes]),
        value: item.value,
      })),
    ),
  }
}).any

describe('replies of a server', () => {
  function frame(chunks: readonly Buffer[]): { bytes: Buffer; isPush: boolean }[] {
    const replies: { bytes: Buffer; isPush: boolean }[] = []
    let pieces: Buffer[] = []
    let chunk = Buffer.alloc(0)
    let from = 0
    const framer = new ReplyFramer((end, isPush) => {
      replies.push({ bytes: Buffer.concat([...pieces, chunk.subarray(from, end)]), isPush })
      pieces = []
      from = end
    })
    for (chunk of chunks as Buffer<ArrayBuffer>[]) {
      from = 0
      framer.push(chunk)
      pieces.push(chunk.subarray(from))
    }
    expect(Buffer.concat(pieces).length).toBe(0)
    return replies
  }

  test('of all types are found whole, and mean what they should, wherever the stream is cut', () => {
    const push = fc.array(reply, { minLength: 1, maxLength: 3 }).map((items) => ({
      bytes: Buffer.concat([Buffer.from(`>${items.length}\r\n`), ...items.map((item) => item.bytes)]),
      value: items.map((item) => item.value),
      isPush: true,
    }))
    const answer = reply.map((one) => ({ ...one, isPush: false }))
    fc.assert(
      fc.property(fc.array(fc.oneof(answer, push), { maxLength: 8 }), places, (sent, at) => {
        const seen = frame(cut(Buffer.concat(sent.map((one) => one.bytes)), at))
        expect(seen.map((one) => one.isPush)).toEqual(sent.map((one) => one.isPush))
        expect(seen.map((one) => decodeReply(one.bytes))).toEqual(sent.map((one) => one.value))
      }),
      { numRuns: 500, seed: 3 },
    )
  })

  test('a stream that is something else is told', () => {
    expect(() => new ReplyFramer(() => {}).push(Buffer.from('HTTP/1.1 200 OK'))).toThrow('not RESP')
  })
})
