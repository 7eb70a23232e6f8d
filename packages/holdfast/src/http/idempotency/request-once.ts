import { InvalidArgumentError, isHoldfastError } from '../../errors.ts'
import type { IdempotentRun } from '../../idempotency/execution.ts'
import { GivenUpError, unkept } from '../../idempotency/work-signs.ts'
import type { HeadersLike, HttpRequest } from '../request.ts'
import { keyFieldOf } from './key-field.ts'
import {
  checkIdempotency,
  checkIdempotentOptions,
  type CheckedIdempotentOptions,
  type HandlerAnswer,
  type IdempotentOptions,
  type RequestIdempotency,
} from './options.ts'
import { isBeyondJson, UnreadBody } from './payload.ts'
import {
  bodyNotComparable,
  bodyUnread,
  inProgress,
  keyMalformed,
  keyMissing,
  keyReused,
  outcomeUnknown,
  storeDown,
} from './problem.ts'
import { replyOf, storedAnswer, type Recorded, type Reply } from './recorded.ts'
import { enter } from './runs.ts'

/** What shall become of a request. */
export type OnceVerdict =
  /** Its handler runs, and nothing is recorded. */
  | { readonly kind: 'free' }
  /** Its handler has run, and its own answer goes out. */
  | { readonly kind: 'own' }
  /** No handler ran for it; this is the answer. */
  | { readonly kind: 'reply'; readonly reply: Reply }

/** One request, as the framework has it and as the core sees it. */
export interface AskedOnce<Request> {
  readonly request: Request
  readonly view: HttpRequest
  /** The payload, for the default fingerprint. Asked for at most once. */
  readonly body: () => unknown
  /** Whether the request is an object of the framework's own, made for this one request. */
  readonly isOwn?: boolean
  /** Aborts when the client goes away; made only where a repeat waits. */
  readonly gone: () => AbortSignal | undefined
}

/** Runs the handler, and resolves with its answer when that is complete, or cannot be kept. */
export type RunHandler = (run: IdempotentRun) => Promise<Recorded>

/** Decides about one request. */
export interface RequestOnce<Request> {
  readonly options: CheckedIdempotentOptions<Request>
  /** Bytes of a body that are kept while it is recorded. */
  readonly maxBytes: number
  handle(asked: AskedOnce<Request>, runHandler: RunHandler): Promise<OnceVerdict>
}

/** When a client shall come back while the store is down: soon, for a store is mostly back within seconds. */
const RETRY_AFTER_OUTAGE_S = 1

/** The core that all shells share. @throws InvalidArgumentError that names option, value and remedy */
export function requestOnce<Request>(
  idempotency: RequestIdempotency,
  given: IdempotentOptions<Request>,
): RequestOnce<Request> {
  checkIdempotency(idempotency)
  const options = checkIdempotentOptions(given)
  return {
    options,
    maxBytes: idempotency.maxBytes,
    handle: (asked, runHandler) => handle(idempotency, options, asked, runHandler),
  }
}

async function handle<Request>(
  idempotency: RequestIdempotency,
  options: CheckedIdempotentOptions<Request>,
  asked: AskedOnce<Request>,
  runHandler: RunHandler,
): Promise<OnceVerdict> {
  const { view } = asked
  if (!options.methods.has(view.method)) return { kind: 'free' }
  const field = keyFieldOf(view)
  if (field.kind === 'missing') return options.required ? reply(keyMissing()) : { kind: 'free' }
  if (field.kind === 'bad') return reply(keyMalformed(field.problem))

  if (asked.isOwn === true && !enter(asked.request as object, idempotency.name)) throw twice(idempotency)
  const signal = options.wait === 0 ? undefined : asked.gone()
  const fingerprint = await fingerprintOf(asked, options)
  if (fingerprint instanceof UnreadBody) return reply(bodyUnread())
  const scope = await scopeOf(asked, options)
  const execution = new HandlerRun(runHandler, options)
  try {
    const outcome = await idempotency.run(
      { key: keyOf(view, field.key), scope },
      { fingerprint, wait: options.wait, ...(signal && { signal }) },
      (run) => execution.run(run),
    )
    return outcome.replayed ? reply(replayOf(outcome.value)) : { kind: 'own' }
  } catch (error) {
    // The handler has answered, whatever became of the record; that is told by events.
    if (execution.hasAnswered) return { kind: 'own' }
    if (execution.hasBegun) throw error
    // Its client went away while it waited; nobody reads the answer.
    if (signal?.aborted === true && signal.reason === error) return reply(inProgress(0))
    if (options.fingerprint === null && isOfBody(error) && isBeyondJson(fingerprint))
      return reply(bodyNotComparable())
    return reply(refusalOf(error))
  }
}

/** One run of a handler under a key. */
class HandlerRun {
  hasBegun = false
  hasAnswered = false
  readonly #runHandler: RunHandler
  readonly #options: CheckedIdempotentOptions<never>

  constructor(runHandler: RunHandler, options: CheckedIdempotentOptions<never>) {
    this.#runHandler = runHandler
    this.#options = options
  }

  /** Resolves with what is stored. */
  async run(run: IdempotentRun): Promise<unknown> {
    this.hasBegun = true
    const recorded = await this.#answered(run)
    this.hasAnswered = true
    const { status, body } = recorded
    try {
      if (isFinal(this.#options, { status, headers: headersOf(recorded) }))
        return body instanceof Error
          ? unkept(body instanceof RangeError ? 'too-large' : 'codec', body)
          : storedAnswer(recorded, body, this.#options.isReplayed)
    } catch (error) {
      // Nobody said that it may run again.
      return unkept('codec', error)
    }
    throw new PassingAnswer(status)
  }

  /** The handler's answer; rejects when nobody will learn of it any more. */
  #answered(run: IdempotentRun): Promise<Recorded> {
    const { clock, maxRun } = this.#options
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(() => {
        this.hasAnswered = true
        reject(new GivenUpError(`the handler has not answered within ${maxRun} ms`))
      }, maxRun)
      const ended = () => timer.cancel()
      this.#runHandler(run)
        .finally(ended)
        .then(resolve, (error: unknown) => {
          // It may answer yet, for itself.
          if (error instanceof GivenUpError) this.hasAnswered = true
          reject(error)
        })
    })
  }
}

/** @throws InvalidArgumentError for what is neither true nor false; a promise would count as true */
function isFinal(options: CheckedIdempotentOptions<never>, answer: HandlerAnswer): boolean {
  const final: unknown = options.isFinal(answer)
  if (typeof final === 'boolean') return final
  // Its failure has nobody else who would look at it.
  if (final instanceof Promise) final.catch(() => undefined)
  throw new InvalidArgumentError('isFinal', final, {
    problem: 'is what isFinal(answer) gave, which is neither true nor false',
    remedy: 'It must answer at once, as ({ status }) => status < 500: no promise.',
  })
}

/** An answer that is not final: it frees the key. */
class PassingAnswer extends Error {
  override readonly name = 'PassingAnswer'
  readonly status: number

  constructor(status: number) {
    super(`the handler answered ${status}, which is not final`)
    this.status = status
  }
}

function twice({ name }: RequestIdempotency): InvalidArgumentError {
  return new InvalidArgumentError('idempotency', name, {
    problem: 'stands before this handler twice, so that the request would wait for itself',
    remedy: 'Put idempotent(…) on the application or on the route, not on both.',
  })
}

function reply(answer: Reply): OnceVerdict {
  return { kind: 'reply', reply: answer }
}

/** @throws InvalidArgumentError when something else than an answer was stored under the key */
function replayOf(stored: unknown): Reply {
  const found = replyOf(stored)
  if (found !== null) return found
  throw new InvalidArgumentError('value', stored, {
    problem: 'is what the key was settled by, and no answer that could be replayed',
    remedy:
      "Settle keys of requests by { value: { status: 200, headers: [['content-type', 'text/plain']], body: 'done' } }.",
  })
}

/** @throws `error` where it is none of those that a request can have by no fault of the server */
function refusalOf(error: unknown): Reply {
  if (isHoldfastError(error, 'IDEMPOTENCY_IN_PROGRESS'))
    return inProgress((error as unknown as { retryAfter: number }).retryAfter)
  if (isHoldfastError(error, 'IDEMPOTENCY_MISMATCH')) return keyReused()
  if (isHoldfastError(error, 'OUTCOME_UNKNOWN')) return outcomeUnknown()
  if (isHoldfastError(error, 'STORE_UNAVAILABLE') || isHoldfastError(error, 'STORE_REFUSED'))
    return storeDown(RETRY_AFTER_OUTAGE_S)
  throw error
}

/** Whether it says that a body has no fingerprint. */
function isOfBody(error: unknown): boolean {
  return (
    isHoldfastError(error, 'INVALID_ARGUMENT') &&
    String(error.details['option']).startsWith('fingerprint.body')
  )
}

/** The key in the store: the same key at another route is another. Neither method nor path has spaces. */
function keyOf(view: HttpRequest, key: string): string {
  return `${view.method} ${targetOf(view).path} ${key}`
}

/** The request target as path and query, where the framework has a whole URL as well. */
function targetOf({ url }: HttpRequest): { path: string; query: string } {
  const target = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  const [path = '', ...query] = (target.split('#', 1)[0] ?? '').split('?')
  return { path: path === '' ? '/' : path, query: query.join('?') }
}

async function scopeOf<Request>(
  { request, view }: AskedOnce<Request>,
  { scope }: CheckedIdempotentOptions<Request>,
): Promise<string> {
  if (scope === 'global') return scope
  const found: unknown = await scope(request, view)
  if (typeof found === 'string' && found !== '') return found
  throw new InvalidArgumentError('scope', found, {
    problem: 'is what scope(request) gave, which does not say whose key it is',
    remedy: 'Give a text that is not empty for every request, as the id of the user.',
  })
}

async function fingerprintOf<Request>(
  { request, view, body }: AskedOnce<Request>,
  { fingerprint }: CheckedIdempotentOptions<Request>,
): Promise<unknown> {
  if (fingerprint === false) return undefined
  if (fingerprint !== null) return givenPayload(await fingerprint(request, view))
  const payload = await body()
  return payload instanceof UnreadBody ? payload : { query: targetOf(view).query, body: payload }
}

/** @throws InvalidArgumentError for nothing: two payloads of which nothing is known must not pass for one */
function givenPayload(payload: unknown): unknown {
  if (payload !== undefined) return payload
  throw new InvalidArgumentError('fingerprint', payload, {
    problem: 'is what fingerprint(request) gave, by which nothing could be compared',
    remedy: 'Give what a repeat has in common with the first; or the option false, for not compared.',
  })
}

function headersOf({ headers }: Recorded): HeadersLike {
  return {
    get: (name) => {
      const values = headers.filter(([each]) => each === name.toLowerCase()).map(([, value]) => value)
      return values.length === 0 ? null : values.join(', ')
    },
  }
}
