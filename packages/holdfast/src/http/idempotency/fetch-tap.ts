import type { Clock } from '../../clock.ts'
import { GivenUpError } from '../../idempotency/work-signs.ts'
import type { Recorded } from './recorded.ts'
import { Recording } from './recording.ts'

/** A response of Fetch that is listened to. */
export interface FetchTap {
  /** What is to be sent. */
  readonly response: Response
  /** Whether all of it is known, so that it can be sent after it was stored. A stream goes out at once, and its end is held back. */
  readonly isComplete: boolean
  /** Resolves at the end of the answer, or when it is clear that it cannot be kept. Rejects with GivenUpError when its source fails. */
  readonly recorded: Promise<Recorded>
  /** The outcome is stored, or cannot be: a stream may end. */
  release(): void
}

/**
 * Listens to a response. A body that is there within a turn of the event loop is taken for whole; any other one is passed on as it
 * comes, and read to its end, up to the bound, also when the client has gone. The end is held back until `release`, with the last
 * byte where the head tells the length.
 */
export async function tapResponse(
  response: Response,
  { maxBytes, clock, method }: { readonly maxBytes: number; readonly clock: Clock; readonly method: string },
): Promise<FetchTap> {
  // First the body: servers with a response of their own give it its default type only when the body is looked at.
  const { body } = response
  const recording = new Recording(
    { status: response.status, headers: [...response.headers], method },
    maxBytes,
  )
  const asItIs = (): FetchTap => {
    const recorded = Promise.resolve(recording.recorded())
    return { response, isComplete: recording.isKept, recorded, release: () => undefined }
  }
  if (!recording.isKept || body === null) return asItIs()
  if (body.locked) {
    recording.giveUp(new Error('the body of the answer is being read elsewhere'))
    return asItIs()
  }
  if (!recording.hasBody) {
    // For HEAD the head is the whole answer, and must not go out before it is stored.
    void body.cancel().catch(() => undefined)
    const recorded = Promise.resolve(recording.recorded())
    return { response: new Response(null, response), isComplete: true, recorded, release: () => undefined }
  }
  const flow = new BodyFlow(body.getReader(), recording)
  await Promise.race([
    flow.recorded.catch(() => null),
    new Promise<void>((resolve) => clock.endOfTurn(resolve)),
  ])
  const whole = flow.whole
  const { recorded } = flow
  if (whole !== null)
    return { response: new Response(whole, response), isComplete: true, recorded, release: () => undefined }
  const stream = flow.clientSide()
  return {
    response: new Response(stream, response),
    isComplete: false,
    recorded,
    release: () => flow.release(),
  }
}

/** A body on its way from the handler to the client. */
class BodyFlow {
  readonly recorded: Promise<Recorded>
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #recording: Recording
  /** What was read before there was a client's side. */
  #early: Uint8Array[] = []
  /** The last byte of a body whose length the client knows. */
  #lastByte: Uint8Array[] = []
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null
  #clientGone = false
  #ended = false
  #failure: { readonly error: unknown } | null = null
  #wanted: () => void = () => undefined
  #release!: () => void
  readonly #released = new Promise<void>((resolve) => (this.#release = resolve))

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>, recording: Recording) {
    this.#reader = reader
    this.#recording = recording
    this.recorded = new Promise((resolve, reject) => {
      this.#pump(resolve).then(
        () => resolve(recording.end()),
        (error: unknown) => {
          this.#failure = { error }
          this.#controller?.error(error)
          reject(new GivenUpError('the body of the answer failed', { cause: error }))
        },
      )
    })
  }

  /** All of the body, if it has come to its end. */
  get whole(): Uint8Array<ArrayBuffer> | null {
    return this.#ended ? Buffer.concat([...this.#early, ...this.#lastByte]) : null
  }

  release(): void {
    this.#release()
  }

  clientSide(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        if (this.#failure !== null) return controller.error(this.#failure.error)
        this.#controller = controller
        for (const part of this.#early.splice(0)) controller.enqueue(part)
        if (this.#ended) this.#closeLater(controller)
      },
      pull: () => this.#wanted(),
      cancel: () => {
        this.#clientGone = true
        this.#wanted()
      },
    })
  }

  async #pump(tell: (recorded: Recorded) => void): Promise<void> {
    for (;;) {
      const { done, value } = await this.#reader.read()
      if (done) break
      this.#recording.add(value)
      if (!this.#recording.isKept) {
        tell(this.#recording.recorded())
        this.#release()
      }
      if (!this.#clientGone) await this.#pass(this.#butLast(value))
      // Read on for the repeat, and for nothing else.
      else if (!this.#recording.isKept) return this.#reader.cancel()
    }
    this.#ended = true
    if (this.#controller !== null) this.#closeLater(this.#controller)
  }

  /** What of a part may go out before the outcome is stored. */
  #butLast(part: Uint8Array): Uint8Array {
    if (!this.#recording.isKept) return Buffer.concat([...this.#lastByte.splice(0), part])
    if (part.byteLength === 0 || !this.#recording.isAll) return part
    this.#lastByte = [Uint8Array.from(part.subarray(-1))]
    return part.subarray(0, -1)
  }

  async #pass(part: Uint8Array): Promise<void> {
    if (part.byteLength === 0) return
    if (this.#controller === null) {
      this.#early.push(part)
      return
    }
    this.#controller.enqueue(part)
    if ((this.#controller.desiredSize ?? 1) > 0) return
    await new Promise<void>((resolve) => (this.#wanted = resolve))
  }

  #closeLater(controller: ReadableStreamDefaultController<Uint8Array>): void {
    void this.#released.then(() => {
      if (this.#clientGone) return
      for (const byte of this.#lastByte) controller.enqueue(byte)
      controller.close()
    })
  }
}
