import { UnreadableStream } from './unreadable.ts'

/**
 * Finds the commands in a client's stream, wherever its chunks are cut. Binary-safe, bulk strings only; inline
 * commands are not understood: `unreadable` tells, and the parser must then not be used any more.
 *
 * Nothing is copied as long as chunks end where commands end. A command in pieces is put together once all of its
 * bytes are there, so that a large value does not cost a copy for each chunk.
 */
export class RequestParser {
  readonly #onCommand: CommandVisitor
  #pieces: Buffer[] = []
  #piecesLength = 0
  /** How long the unfinished command is at least. */
  #needed = 0
  /** Where the line that `#length` read ends. */
  #cursor = 0
  #unreadable: UnreadableStream | undefined

  constructor(onCommand: CommandVisitor) {
    this.#onCommand = onCommand
  }

  /** Set once the stream turned out to be something else. */
  get unreadable(): UnreadableStream | undefined {
    return this.#unreadable
  }

  /**
   * Takes the next chunk, calls the visitor for each command that is now whole, and returns the bytes of all of
   * them in one piece (often the chunk itself); `undefined` when none is whole yet.
   */
  push(chunk: Buffer): Buffer | undefined {
    const bytes = this.#withEarlierPieces(chunk)
    if (bytes === undefined) return undefined
    let end = 0
    while (end < bytes.length) {
      const next = this.#command(bytes, end)
      if (next < 0) break
      end = next
    }
    if (end === bytes.length) return bytes
    this.#pieces.push(end === 0 ? bytes : bytes.subarray(end))
    this.#piecesLength = bytes.length - end
    return end === 0 ? undefined : bytes.subarray(0, end)
  }

  /** Takes back the bytes behind the last whole command, for a stream that is read no further. */
  takeUnfinished(): Buffer {
    const rest = Buffer.concat(this.#pieces)
    this.#forgetPieces()
    return rest
  }

  #withEarlierPieces(chunk: Buffer): Buffer | undefined {
    if (this.#pieces.length === 0) return chunk
    this.#pieces.push(chunk)
    this.#piecesLength += chunk.length
    if (this.#piecesLength < this.#needed) return undefined
    return this.takeUnfinished()
  }

  #forgetPieces(): void {
    this.#pieces = []
    this.#piecesLength = 0
    this.#needed = 0
  }

  /** Where the command that starts at `start` ends, or -1 when it is not whole. */
  #command(bytes: Buffer, start: number): number {
    const count = this.#length(bytes, start, ASTERISK)
    if (count === undefined) return this.#incomplete(0)
    let at = this.#cursor
    let nameStart = at
    let nameEnd = at
    for (let i = 0; i < count; i++) {
      const length = this.#length(bytes, at, DOLLAR)
      if (length === undefined) return this.#incomplete(0)
      const argStart = this.#cursor
      at = argStart + length + 2
      if (at > bytes.length) return this.#incomplete(at - start)
      if (i === 0) {
        nameStart = argStart
        nameEnd = argStart + length
      }
    }
    // The server skips an empty array without an answer.
    if (count > 0) this.#onCommand(bytes, start, at, nameStart, nameEnd)
    return at
  }

  #incomplete(needed: number): -1 {
    this.#needed = needed
    return -1
  }

  /** Reads `*12\r\n` or `$12\r\n`; undefined when the line is not whole. */
  #length(bytes: Buffer, start: number, type: number): number | undefined {
    if (start >= bytes.length) return undefined
    if (bytes[start] !== type) return this.#giveUp(bytes, start)
    let value = 0
    for (let at = start + 1; at < bytes.length; at++) {
      const byte = bytes[at] as number
      if (byte >= ZERO && byte <= NINE) value = value * 10 + byte - ZERO
      else if (byte === LINE_FEED) {
        this.#cursor = at + 1
        return value
      } else if (byte !== CARRIAGE_RETURN) return this.#giveUp(bytes, start)
    }
    return undefined
  }

  #giveUp(bytes: Buffer, at: number): undefined {
    this.#unreadable = new UnreadableStream('request', bytes, at)
  }
}

/** Is given the buffer, where the command starts and ends in it, and where its name does. */
export type CommandVisitor = (
  bytes: Buffer,
  start: number,
  end: number,
  nameStart: number,
  nameEnd: number,
) => void

const ASTERISK = 42
const DOLLAR = 36
const ZERO = 48
const NINE = 57
const CARRIAGE_RETURN = 13
const LINE_FEED = 10
