/** Replies as values. */

export type RespReply =
  | string
  | number
  | bigint
  | boolean
  | null
  | RespError
  | readonly RespReply[]
  | ReadonlyMap<RespReply, RespReply>

/** An error that the server answered. `code` is its first word, as in `WRONGTYPE`. */
export class RespError extends Error {
  readonly code: string

  constructor(message: string) {
    super(message)
    this.name = 'RespError'
    this.code = message.split(' ', 1)[0] ?? ''
  }
}

/**
 * The value of one whole reply. Strings are read as UTF-8; integers beyond 2^53 become bigint; maps become Map, sets
 * and pushes arrays; attributes are left out; errors are values here, not thrown.
 */
export function decodeReply(bytes: Buffer): RespReply {
  return new Decoder(bytes).value()
}

class Decoder {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  value(): RespReply {
    const type = String.fromCharCode(this.#bytes[this.#at] as number)
    const line = this.#line()
    switch (type) {
      case '+':
        return line
      case '-':
        return new RespError(line)
      case ':':
        return integer(line)
      case '(':
        return BigInt(line)
      case ',':
        return line === 'inf' ? Infinity : line === '-inf' ? -Infinity : Number(line)
      case '#':
        return line === 't'
      case '_':
        return null
      case '$':
        return line === '-1' ? null : this.#bulk(Number(line))
      case '!':
        return new RespError(this.#bulk(Number(line)))
      case '=':
        return this.#bulk(Number(line)).slice('txt:'.length)
      case '*':
        return line === '-1' ? null : this.#values(Number(line))
      case '~':
      case '>':
        return this.#values(Number(line))
      case '%':
        return this.#map(Number(line))
      case '|':
        this.#map(Number(line))
        return this.value()
      default:
        throw new Error(`no reply of RESP starts with ${JSON.stringify(type)}`)
    }
  }

  #line(): string {
    const end = this.#bytes.indexOf('\r\n', this.#at)
    const line = this.#bytes.toString('utf8', this.#at + 1, end)
    this.#at = end + 2
    return line
  }

  #bulk(length: number): string {
    const start = this.#at
    this.#at += length + 2
    return this.#bytes.toString('utf8', start, start + length)
  }

  #values(count: number): RespReply[] {
    return Array.from({ length: count }, () => this.value())
  }

  #map(pairs: number): Map<RespReply, RespReply> {
    const map = new Map<RespReply, RespReply>()
    for (let i = 0; i < pairs; i++) {
      const key = this.value()
      map.set(key, this.value())
    }
    return map
  }
}

function integer(line: string): number | bigint {
  const number = Number(line)
  return Number.isSafeInteger(number) ? number : BigInt(line)
}
