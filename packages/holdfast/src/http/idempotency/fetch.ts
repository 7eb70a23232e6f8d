import type { Timer } from '../../clock.ts'
import type { IdempotentRun } from '../../idempotency/execution.ts'
import { GivenUpError } from '../../idempotency/work-signs.ts'
import { tapResponse, type FetchTap } from './fetch-tap.ts'
import type { Recorded, Reply } from './recorded.ts'
import type { AskedOnce, RequestOnce } from './request-once.ts'

/** What becomes of a request whose answers are responses of Fetch. `own`: that of its handler. */
export type FetchVerdict =
  { readonly kind: 'free' } | { readonly kind: 'own' | 'reply'; readonly response: Response }

/** Answers one request; a stream is answered as soon as it begins. */
export function answerOnce<Request>(
  once: RequestOnce<Request>,
  asked: AskedOnce<Request>,
  handler: (run: IdempotentRun) => Promise<Response>,
): Promise<FetchVerdict> {
  return new Promise((resolve, reject) => {
    const respond = (response: Response) => resolve({ kind: 'own', response })
    const answer = new OwnAnswer(once, handler, respond, asked)
    once
      .handle(asked, (run) => answer.record(run))
      .then(async (verdict) => {
        if (verdict.kind === 'own') await answer.end()
        else if (verdict.kind === 'free') resolve(verdict)
        else resolve({ kind: 'reply', response: responseOf(verdict.reply) })
      })
      .catch((error: unknown) => reject(error as Error))
  })
}

/** The answer of a request's own handler, on its way. */
class OwnAnswer {
  readonly #once: RequestOnce<never>
  readonly #handler: (run: IdempotentRun) => Promise<Response>
  readonly #respond: (response: Response) => void
  readonly #method: string
  readonly #gone: AbortSignal | undefined
  #timer: Timer | null = null
  #given: Promise<Response> | null = null
  #tap: FetchTap | null = null
  #isOver = false

  constructor(
    once: RequestOnce<never>,
    handler: (run: IdempotentRun) => Promise<Response>,
    respond: (response: Response) => void,
    { view, gone }: Pick<AskedOnce<never>, 'view' | 'gone'>,
  ) {
    this.#once = once
    this.#handler = handler
    this.#respond = respond
    this.#method = view.method
    this.#gone = gone()
  }

  record(run: IdempotentRun): Promise<Recorded> {
    return new Promise((resolve, reject) => {
      if (this.#gone?.aborted === true) this.#clientLeft(reject)
      else this.#gone?.addEventListener('abort', () => this.#clientLeft(reject), { once: true })
      this.#record(run).then(resolve, reject)
    })
  }

  #clientLeft(giveUp: (error: Error) => void): void {
    if (this.#isOver) return
    const { clock, afterDisconnect } = this.#once.options
    const why = `the client has gone, and the handler has not ended within ${afterDisconnect} ms`
    this.#timer = clock.setTimer(() => giveUp(new GivenUpError(why)), afterDisconnect)
  }

  async #record(run: IdempotentRun): Promise<Recorded> {
    const { maxBytes, options } = this.#once
    this.#given = this.#handler(run)
    const given = await this.#given
    // Given up meanwhile: it goes out as it is.
    if (this.#isOver) throw new GivenUpError('the handler answered too late')
    const tap = await tapResponse(given, { maxBytes, clock: options.clock, method: this.#method })
    this.#tap = tap
    if (!tap.isComplete) this.#respond(tap.response)
    return tap.recorded
  }

  /** The outcome is stored, or cannot be. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#timer?.cancel()
    this.#tap?.release()
    // Without a tap it was given up before it answered, and may answer yet.
    this.#respond(this.#tap?.response ?? (await (this.#given as Promise<Response>)))
  }
}

/** Statuses whose responses must not have a body, even an empty one. */
const WITHOUT_BODY = new Set([204, 205, 304])

function responseOf({ status, headers, body }: Reply): Response {
  const given = headers.map(([name, value]): [string, string] => [name, value])
  // Servers give a body without a type one of their own, unless there is no body at all.
  const hasType = headers.some(([name]) => name.toLowerCase() === 'content-type')
  const isNone = WITHOUT_BODY.has(status) || (body.length === 0 && !hasType)
  return new Response(isNone ? null : Buffer.from(body), { status, headers: given })
}
