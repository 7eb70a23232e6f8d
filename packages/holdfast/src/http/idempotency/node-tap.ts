import type { Clock, Timer } from '../../clock.ts'
import { GivenUpError } from '../../idempotency/work-signs.ts'
import type { HeaderField } from '../ratelimit-fields.ts'
import { HiddenDeparture } from './hidden-departure.ts'
import type { Recorded } from './recorded.ts'
import { Recording } from './recording.ts'
import { ResponseShade } from './response-shade.ts'
import {
  endArguments,
  headLines,
  isHeadTaken,
  writeHeadArguments,
  type Callback,
} from './response-arguments.ts'

/** A method that is called in one of many forms. */
type Call = (this: unknown, ...given: unknown[]) => unknown

/** What is used of a response of node:http and node:http2 to record what is sent by it. */
export interface TappedResponse {
  statusCode: number
  readonly statusMessage?: string | undefined
  /** Whether Node refuses a body of another length than the head has promised. */
  readonly strictContentLength?: boolean
  readonly headersSent: boolean
  readonly destroyed?: boolean
  /** HTTP/2: the response itself does not tell that it is closed, and its stream does. */
  readonly stream?: { readonly destroyed?: boolean; destroy?(error: unknown): unknown } | null
  readonly req?: { readonly method?: string }
  getHeaders(): Readonly<Record<string, unknown>>
  writeHead: Call
  write: Call
  end: Call
  destroy?: Call
  flushHeaders?: Call
  once(event: 'close', listener: () => void): unknown
}

/**
 * Listens to a response of node:http or node:http2, by whatever means it is sent. What the handler writes goes out at once; its
 * end is held back until `release`, so that whoever has the whole answer finds it stored; where the head tells the length of the
 * body, its last byte as well, and where there is no body, the head. Meanwhile the response looks as if it had ended. An answer
 * that cannot be kept is not held back at all. Until it is recorded, a client that goes away is hidden from the handler.
 */
export class NodeTap {
  /** Resolves at the end of the answer, or when it is clear that it cannot be kept. Rejects with GivenUpError when no end will come. */
  readonly recorded: Promise<Recorded>
  readonly #response: TappedResponse
  readonly #shade: ResponseShade
  readonly #departure: HiddenDeparture
  readonly #maxBytes: number
  readonly #clock: Clock
  readonly #afterDisconnect: number
  readonly #original: Pick<TappedResponse, 'writeHead' | 'write' | 'end'>
  #state: 'recording' | 'held' | 'passing' = 'recording'
  #recording: Recording | null = null
  #heldHead: readonly unknown[] | null = null
  #heldByte: Uint8Array | null = null
  #heldEnd: readonly unknown[] = []
  #timer: Timer | null = null
  #resolve!: (recorded: Recorded) => void
  #reject!: (error: GivenUpError) => void

  /** @param options.afterDisconnect milliseconds that a handler may go on without a client */
  constructor(
    response: TappedResponse,
    options: { readonly maxBytes: number; readonly clock: Clock; readonly afterDisconnect: number },
  ) {
    this.#response = response
    this.#shade = new ResponseShade(response)
    this.#maxBytes = options.maxBytes
    this.#clock = options.clock
    this.#afterDisconnect = options.afterDisconnect
    this.recorded = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    const { writeHead, write, end, destroy, flushHeaders } = response
    this.#original = { writeHead, write, end }
    response.writeHead = (...given) => this.#writeHead(given)
    response.write = (...given) => this.#write(given)
    response.end = (...given) => this.#end(given)
    if (destroy !== undefined)
      response.destroy = (...given) => {
        // Its handler, or the pipe into it, will not end it any more.
        this.#giveUp('the response was destroyed')
        return destroy.apply(response, given)
      }
    if (flushHeaders !== undefined)
      response.flushHeaders = (...given) => {
        const isFirst = this.#recording === null
        // Without a body the head is the whole answer.
        if (this.isRecording) {
          const recording = this.#see(response.statusCode)
          this.#passUnlessKept(recording)
          if (this.isRecording && recording.isAll) return undefined
        }
        return this.#attempt(isFirst, () => flushHeaders.apply(response, given))
      }
    this.#departure = new HiddenDeparture(
      response,
      () => this.isRecording,
      () => this.#clientLeft(),
      () =>
        this.#clock.endOfTurn(() => this.#giveUp('the client has gone, and the source of the answer broke')),
    )
    if ((response.stream ?? response).destroyed === true) this.#departure.leave()
  }

  /** Whether the answer has not come to its end yet, and may still be kept. */
  get isRecording(): boolean {
    return this.#state === 'recording'
  }

  /** The outcome is stored, or cannot be: what was held back goes out. Where Node refuses it, the connection is broken off. */
  release(): void {
    const wasHeld = this.#state === 'held'
    if (wasHeld) this.#shade.lift()
    try {
      this.#pass()
      if (wasHeld) this.#original.end.apply(this.#response, [...this.#heldEnd])
    } catch (error) {
      // The handler is over, and nobody else could catch it.
      const { stream } = this.#response
      if (stream?.destroy !== undefined) stream.destroy(error)
      else this.#response.destroy?.(error)
    }
  }

  #clientLeft(): void {
    const why = `the client has gone, and the handler has not ended within ${this.#afterDisconnect} ms`
    this.#timer = this.#clock.setTimer(() => this.#giveUp(why), this.#afterDisconnect)
  }

  #giveUp(why: string): void {
    if (this.#state !== 'recording') return
    this.#reject(new GivenUpError(why))
    this.#pass()
  }

  #pass(): void {
    this.#state = 'passing'
    this.#timer?.cancel()
    this.#departure.lift()
    const [head, byte] = [this.#heldHead, this.#heldByte]
    this.#heldHead = null
    this.#heldByte = null
    if (head !== null) this.#original.writeHead.apply(this.#response, [...head])
    if (byte !== null && !this.#departure.hasLeft) this.#original.write.call(this.#response, byte)
  }

  /** The head as it stands now, before anything in front of us makes it into what goes over the wire. */
  #see(status: number, explicit: readonly HeaderField[] = []): Recording {
    if (this.#recording !== null) return this.#recording
    const headers = headLines(this.#response.getHeaders(), explicit)
    const method = this.#response.req?.method ?? ''
    this.#recording = new Recording({ status, headers, method }, this.#maxBytes)
    return this.#recording
  }

  /** What Node refuses, by throwing, before anything was sent was no answer: that of an error handler follows. */
  #attempt(isFirst: boolean, call: () => unknown): unknown {
    try {
      return call()
    } catch (error) {
      if (isFirst) {
        this.#recording = null
        this.#heldByte = null
      }
      throw error
    }
  }

  /** Nothing is held back of an answer that cannot be kept. */
  #passUnlessKept(recording: Recording): void {
    if (recording.isKept || this.#state !== 'recording') return
    this.#resolve(recording.recorded())
    this.#pass()
  }

  #writeHead(given: unknown[]): unknown {
    const isFirst = this.#recording === null
    if (this.#state === 'recording') {
      const { status, headers } = writeHeadArguments(given)
      // Continue, Processing and Early Hints come before the answer.
      if (status >= 200 || status === 101) {
        const recording = this.#see(status, headers)
        this.#passUnlessKept(recording)
        // HTTP/2 sends the head at once.
        if (this.isRecording && recording.isAll && this.#response.stream !== undefined) {
          this.#heldHead = given
          return this.#response
        }
      }
    }
    return this.#attempt(isFirst, () => this.#original.writeHead.apply(this.#response, given))
  }

  #write(given: unknown[]): unknown {
    const { bytes, callback } = endArguments(given)
    if (this.#state === 'held') return refuseLate(callback)
    if (this.isRecording && (bytes === null || !this.#isHeadTaken)) return this.#refused('write', given)
    const isFirst = this.#recording === null
    if (this.#state === 'recording') {
      const recording = this.#see(this.#response.statusCode)
      if (bytes !== null) recording.add(bytes)
      this.#passUnlessKept(recording)
      if (this.isRecording && bytes !== null && recording.isAll)
        return this.#attempt(isFirst, () => this.#writeButLast(bytes, callback))
    }
    // Without a client a handler goes on all the same: its answer is kept for the repeat.
    if (this.#departure.hasLeft) return taken(callback)
    return this.#attempt(isFirst, () => this.#original.write.apply(this.#response, given))
  }

  /** Writes the end of a body whose length the client knows, but for the byte by which it would know that it has all. */
  #writeButLast(bytes: Uint8Array, callback: Callback | null): unknown {
    const { hasBody } = this.#see(this.#response.statusCode)
    if (bytes.byteLength === 0 || !hasBody) return taken(callback)
    this.#heldByte = Uint8Array.from(bytes.subarray(-1))
    if (bytes.byteLength === 1 || this.#departure.hasLeft) return taken(callback)
    const given = [bytes.subarray(0, -1), ...(callback === null ? [] : [callback])]
    return this.#original.write.apply(this.#response, given)
  }

  #end(given: unknown[]): unknown {
    const { bytes, hasChunk, callback } = endArguments(given)
    if (this.#state === 'held') {
      refuseLate(callback)
      return this.#response
    }
    if (this.#state === 'passing') return this.#original.end.apply(this.#response, given)
    if ((bytes === null && hasChunk) || !this.#isHeadTaken) return this.#refused('end', given)
    const recording = this.#see(this.#response.statusCode)
    if (bytes !== null) recording.add(bytes)
    if (this.#response.strictContentLength === true && recording.end().body instanceof Error)
      return this.#refused('end', given)
    this.#state = 'held'
    this.#heldEnd = given
    this.#timer?.cancel()
    this.#shade.cast(recording.status)
    this.#resolve(recording.end())
    return this.#response
  }

  /** Whether Node has sent the head, or will. */
  get #isHeadTaken(): boolean {
    return this.#response.headersSent || isHeadTaken(this.#response)
  }

  /** Node refuses it now, while the handler hears of it; where something in front of us takes it all the same, it is not kept. */
  #refused(method: 'write' | 'end', given: unknown[]): unknown {
    const { headersSent } = this.#response
    const done = this.#attempt(!headersSent, () => this.#original[method].apply(this.#response, given))
    const recording = this.#see(this.#response.statusCode)
    recording.giveUp(new Error(`the answer was sent by a ${method}() that is not known here`))
    this.#passUnlessKept(recording)
    return done
  }
}

/** Says of a write that nobody shall have now that it was done. */
function taken(callback: Callback | null): true {
  if (callback !== null) queueMicrotask(callback)
  return true
}

/** What Node says to writes after the end. */
function refuseLate(callback: Callback | null): false {
  const error = Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' })
  if (callback !== null) queueMicrotask(() => callback(error))
  return false
}
