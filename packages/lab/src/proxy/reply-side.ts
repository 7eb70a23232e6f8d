import { decodeReply } from '../resp/replies.ts'
import type { RespReply } from '../resp/replies.ts'
import { ReplyFramer } from '../resp/reply-framer.ts'
import { UnreadableStream } from '../resp/unreadable.ts'
import type { Pipe } from './pipe.ts'

/** What shall happen to one reply. */
export type ReplyMark =
  | { readonly kind: 'lose'; happened(): void }
  | { readonly kind: 'delay'; readonly ms: number; happened(): void }
  | { readonly kind: 'capture'; resolve(reply: RespReply): void; reject(error: Error): void }

/**
 * The server's side of a connection: knows by their order which reply belongs to which request, and treats those
 * that are marked. Replies without a mark go on as they come, unparted.
 */
export class ReplySide {
  readonly #pipe: Pipe
  readonly #framer = new ReplyFramer((end, isPush) => this.#replyEnds(end, isPush))
  readonly #marks = new Map<number, ReplyMark>()
  #requests = 0
  #answered = 0
  /** The stream is passed on unread. */
  #unread: boolean
  #over = false
  #chunk: Buffer = NOTHING
  /** Where the current reply, or what the chunk holds of it, starts. */
  #replyFrom = 0
  /** Up to here the chunk was sent or disposed of. */
  #doneTo = 0
  /** What came so far of a reply that is delayed or captured. */
  #pieces: Buffer[] = []

  constructor(pipe: Pipe, unread: boolean) {
    this.#pipe = pipe
    this.#unread = unread
  }

  /** A request goes to the server now; `mark` says what shall happen to its reply. */
  expect(mark?: ReplyMark): void {
    if (mark !== undefined) this.#marks.set(this.#requests, mark)
    this.#requests++
  }

  /** Bytes from the server. */
  push(chunk: Buffer): void {
    if (this.#over) return
    if (this.#unread) return this.#pipe.send(chunk)
    this.#chunk = chunk
    this.#replyFrom = 0
    this.#doneTo = 0
    try {
      this.#framer.push(chunk)
      if (this.#replyFrom < chunk.length) this.#treat(chunk.length, this.#framer.isPush, false)
    } catch (error) {
      if (!(error instanceof UnreadableStream)) throw error
      this.#unread = true
    }
    this.#passUpTo(chunk.length)
    this.#chunk = NOTHING
  }

  /** The connection is over: replies that somebody waits for do not come. */
  close(): void {
    this.#over = true
    for (const mark of this.#marks.values()) {
      if (mark.kind === 'capture') mark.reject(new Error('the connection ended before the reply came'))
    }
    this.#marks.clear()
  }

  #replyEnds(end: number, isPush: boolean): void {
    this.#treat(end, isPush, true)
    if (!isPush && this.#answered < this.#requests) this.#answered++
    this.#replyFrom = end
  }

  /** Treats the current reply, or what this chunk holds of it. */
  #treat(end: number, isPush: boolean, isWhole: boolean): void {
    if (this.#marks.size === 0 || isPush || this.#over) return
    const mark = this.#marks.get(this.#answered)
    if (mark === undefined) return
    if (isWhole) this.#marks.delete(this.#answered)
    if (mark.kind === 'lose') {
      this.#passUpTo(this.#replyFrom)
      this.#doneTo = end
      if (isWhole) this.#lose(mark)
      return
    }
    this.#pieces.push(this.#chunk.subarray(this.#replyFrom, end))
    if (mark.kind === 'delay') {
      this.#passUpTo(this.#replyFrom)
      this.#doneTo = end
    }
    if (!isWhole) return
    const reply = Buffer.concat(this.#pieces)
    this.#pieces = []
    if (mark.kind === 'capture') return mark.resolve(decodeReply(reply))
    this.#pipe.send(reply, mark.ms)
    mark.happened()
  }

  #lose(mark: ReplyMark & { kind: 'lose' }): void {
    this.#over = true
    this.#pipe.sendThenReset(NOTHING)
    mark.happened()
  }

  #passUpTo(end: number): void {
    if (end <= this.#doneTo || this.#over) return
    const isAll = this.#doneTo === 0 && end === this.#chunk.length
    this.#pipe.send(isAll ? this.#chunk : this.#chunk.subarray(this.#doneTo, end))
    this.#doneTo = end
  }
}

const NOTHING = Buffer.alloc(0)
