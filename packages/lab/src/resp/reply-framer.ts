import { UnreadableStream } from './unreadable.ts'

/**
 * Finds where each reply ends in a server's stream (RESP2 and RESP3), wherever its chunks are cut. It keeps no
 * bytes, only its place, so that framing a stream costs next to nothing.
 *
 * An attribute (`|`) belongs to the reply behind it. Streamed strings and aggregates (`$?`, `*?`), which no server
 * sends, throw UnreadableStream.
 */
export class ReplyFramer {
  /** Whether the reply that is being read is a push (`>`), that is nobody's answer. Known from its first byte. */
  isPush = false
  readonly #onReply: ReplyVisitor
  #state: State = 'type'
  #type = 0
  #number = 0
  #negative = false
  /** Bytes of a bulk string still to come, its line end included. */
  #left = 0
  /** For each aggregate that is open: how many values it still lacks, and whether it is an attribute. */
  readonly #open: { lacking: number; readonly attribute: boolean }[] = []
  #atStart = true

  constructor(onReply: ReplyVisitor) {
    this.#onReply = onReply
  }

  /** Takes the next chunk and calls the visitor with the end (in this chunk) of each reply that is now whole. */
  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#state === 'type') at = this.#readType(chunk, at)
      else if (this.#state === 'line') at = this.#readLine(chunk, at)
      else if (this.#state === 'number') at = this.#readNumber(chunk, at)
      else at = this.#readBulk(chunk, at)
    }
  }

  #readType(chunk: Buffer, at: number): number {
    const type = chunk[at] as number
    if (this.#atStart) {
      this.isPush = type === Type.push
      this.#atStart = false
    }
    this.#type = type
    if (LINE_TYPES.has(type)) this.#state = 'line'
    else if (BULK_TYPES.has(type) || AGGREGATE_TYPES.has(type)) {
      this.#state = 'number'
      this.#number = 0
      this.#negative = false
    } else throw new UnreadableStream('reply', chunk, at)
    return at + 1
  }

  #readLine(chunk: Buffer, at: number): number {
    while (at < chunk.length) {
      if (chunk[at++] === LINE_FEED) {
        this.#valueDone(at)
        break
      }
    }
    return at
  }

  #readNumber(chunk: Buffer, at: number): number {
    while (at < chunk.length) {
      const byte = chunk[at++] as number
      if (byte >= ZERO && byte <= NINE) this.#number = this.#number * 10 + byte - ZERO
      else if (byte === LINE_FEED) {
        this.#numberDone(at)
        break
      } else if (byte === MINUS) this.#negative = true
      else if (byte !== CARRIAGE_RETURN) throw new UnreadableStream('reply', chunk, at - 1)
    }
    return at
  }

  #numberDone(at: number): void {
    const type = this.#type
    if (BULK_TYPES.has(type)) {
      if (this.#negative) this.#valueDone(at)
      else {
        this.#left = this.#number + 2
        this.#state = 'bulk'
      }
      return
    }
    const values = type === Type.map || type === Type.attribute ? this.#number * 2 : this.#number
    if (!this.#negative && values > 0) {
      this.#open.push({ lacking: values, attribute: type === Type.attribute })
      this.#state = 'type'
    } else if (type === Type.attribute) this.#state = 'type'
    else this.#valueDone(at)
  }

  #readBulk(chunk: Buffer, at: number): number {
    const taken = Math.min(this.#left, chunk.length - at)
    this.#left -= taken
    if (this.#left === 0) this.#valueDone(at + taken)
    return at + taken
  }

  #valueDone(at: number): void {
    this.#state = 'type'
    for (let top = this.#open.at(-1); top !== undefined; top = this.#open.at(-1)) {
      if (--top.lacking > 0) return
      this.#open.pop()
      if (top.attribute) return
    }
    this.#atStart = true
    this.#onReply(at, this.isPush)
  }
}

/** Is given where the reply ends in the chunk, and whether it is a push. */
export type ReplyVisitor = (end: number, isPush: boolean) => void

type State = 'type' | 'line' | 'number' | 'bulk'

const code = (character: string) => character.charCodeAt(0)
const Type = { push: code('>'), map: code('%'), attribute: code('|') }
const LINE_TYPES = new Set(['+', '-', ':', '_', '#', ',', '('].map(code))
const BULK_TYPES = new Set(['$', '!', '='].map(code))
const AGGREGATE_TYPES = new Set(['*', '%', '~', '>', '|'].map(code))
const ZERO = 48
const NINE = 57
const MINUS = 45
const CARRIAGE_RETURN = 13
const LINE_FEED = 10
