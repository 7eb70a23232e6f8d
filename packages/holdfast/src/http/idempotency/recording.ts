import type { HeaderField } from '../ratelimit-fields.ts'
import type { Recorded } from './recorded.ts'

/** What has been seen of an answer: its head, and its body up to a bound. The same for responses of Node and of Fetch. */
export class Recording {
  readonly #status: number
  readonly #headers: readonly HeaderField[]
  readonly #maxBytes: number
  /** Bytes of the body that the head has promised. */
  readonly #promised: number | null
  /** Whether a body is sent at all: not for HEAD, and not with some statuses. */
  readonly hasBody: boolean
  #parts: Uint8Array[] = []
  #bytes = 0
  #unkept: Error | null = null

  /** @param head.headers names in lower case */
  constructor(
    { status, headers, method }: { status: number; headers: readonly HeaderField[]; method?: string },
    maxBytes: number,
  ) {
    this.#status = status
    this.#headers = headers
    this.#maxBytes = maxBytes
    this.hasBody = method !== 'HEAD' && status >= 200 && status !== 204 && status !== 304
    this.#promised = this.hasBody ? lengthOf(headers) : null
    // A stream of events has no end that is worth waiting for.
    if (headers.some(([name, value]) => name === 'content-type' && /^text\/event-stream\b/i.test(value)))
      this.#unkept = new Error('the answer is a stream of events, which is not replayed')
    if (status < 200)
      this.#unkept = new Error(`the answer switches protocols (${status}), and is not replayed`)
  }

  get status(): number {
    return this.#status
  }

  /** Whether what is seen will be replayed. */
  get isKept(): boolean {
    return this.#unkept === null
  }

  /** Whether a client that has what was seen knows that this is all, without being told of the end. */
  get isAll(): boolean {
    return !this.hasBody || (this.#promised !== null && this.#bytes >= this.#promised)
  }

  /** Copies the bytes: a handler may use its buffer again. */
  add(bytes: Uint8Array): void {
    if (this.#unkept !== null || !this.hasBody) return
    this.#bytes += bytes.byteLength
    if (this.#promised !== null && this.#bytes > this.#promised) return this.#refuseLength('has more')
    if (this.#bytes > this.#maxBytes) {
      this.giveUp(new RangeError(`the body has more than ${this.#maxBytes} bytes, and maxBytes is that`))
      return
    }
    this.#parts.push(Uint8Array.from(bytes))
  }

  giveUp(why: Error): void {
    this.#unkept ??= why
    this.#parts = []
  }

  /** The body has come to its end. One that is shorter than its head has promised is not whole, and is not replayed as if it were. */
  end(): Recorded {
    if (this.#promised !== null && this.#bytes < this.#promised) this.#refuseLength('ends before that')
    return this.recorded()
  }

  #refuseLength(fault: string): void {
    this.giveUp(new Error(`the head of the answer promised ${this.#promised} bytes, and its body ${fault}`))
  }

  recorded(): Recorded {
    const body = this.#unkept ?? Buffer.concat(this.#parts)
    return { status: this.#status, headers: this.#headers, body }
  }
}

/** The `Content-Length`; `null` where there is none that can be relied on. */
function lengthOf(headers: readonly HeaderField[]): number | null {
  const [value, ...more] = headers.filter(([name]) => name === 'content-length').map(([, each]) => each)
  return value !== undefined && more.length === 0 && /^\d{1,15}$/.test(value) ? Number(value) : null
}
