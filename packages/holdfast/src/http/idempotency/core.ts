import type { IdempotentRun } from '../../idempotency/execution.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { headersLike, type HttpRequest, type NodeRequestLike } from '../request.ts'
import { answerOnce } from './fetch.ts'
import type { IdempotentOptions, RequestIdempotency } from './options.ts'
import { readBody } from './payload.ts'
import { requestOnce, type AskedOnce } from './request-once.ts'

/** What is used of a `Request` of Fetch. */
export interface FetchRequest extends Omit<HttpRequest, 'remoteAddress'> {
  readonly signal?: AbortSignal
  readonly bodyUsed?: boolean
  clone(): { arrayBuffer(): Promise<ArrayBuffer> }
}

/** A request of another server, with its body as it was parsed, or its bytes. */
export interface RequestWithBody extends Omit<HttpRequest, 'remoteAddress' | 'headers'> {
  /** A plain object, as node:http has it, or `Headers` of Fetch. */
  readonly headers: HttpRequest['headers'] | NodeRequestLike['headers']
  readonly body?: unknown
  readonly remoteAddress?: string | undefined
  /** Aborts when the client goes away. */
  readonly signal?: AbortSignal
}

/** Answers a request. `run` is `undefined` when it came without a key, and none is required. */
export type FetchHandler = (run: IdempotentRun | undefined) => Response | Promise<Response>

/**
 * The core of the shells, for servers that have none, and for those that speak Fetch: lets a request with an `Idempotency-Key`
 * take effect once. The function made resolves with the handler's response, with the replay of an earlier one, or with a problem
 * document: 400, 409, 422 or 503. A body that is there at once is given when the outcome is stored; of a stream only the end is
 * held back until then, and it is read to its end even if nobody else does.
 *
 * It rejects with what the handler, `scope` and `fingerprint` throw, and with InvalidArgumentError for what they give.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function idempotent<Request extends FetchRequest | RequestWithBody = FetchRequest | RequestWithBody>(
  idempotency: RequestIdempotency,
  options: IdempotentOptions<Request>,
): (request: Request, handler: FetchHandler) => Promise<Response> {
  const once = requestOnce(idempotency, options)
  return async (request, handler) => {
    const verdict = await answerOnce(once, askedOf(request), async (run) => responseOf(await handler(run)))
    return verdict.kind === 'free' ? handler(undefined) : verdict.response
  }
}

function askedOf<Request extends FetchRequest | RequestWithBody>(request: Request): AskedOnce<Request> {
  const { method, url, headers, httpVersion, rawHeaders } = request
  const { remoteAddress } = request as RequestWithBody
  const view = { method, url, headers: headersLike(headers), httpVersion, rawHeaders, remoteAddress }
  return { request, view, body: () => bodyOf(request), gone: () => request.signal }
}

async function bodyOf(request: FetchRequest | RequestWithBody): Promise<unknown> {
  if (!('clone' in request)) return request.body
  if (request.bodyUsed === true) {
    throw new InvalidArgumentError('fingerprint', undefined, {
      problem: 'cannot be made: the body of the request was read before',
      remedy: 'Give the request before anybody reads it (or a clone of it), or fingerprint: (request) => …',
    })
  }
  return readBody(request.headers, new Uint8Array(await request.clone().arrayBuffer()))
}

/** @throws InvalidArgumentError, which frees the key as every error of a handler does */
function responseOf(given: unknown): Response {
  if (typeof given === 'object' && given !== null && 'status' in given && 'headers' in given)
    return given as Response
  throw new InvalidArgumentError('handler', given, {
    problem: 'gave no Response',
    remedy: "Let it return one, as new Response('done', { status: 201 }).",
  })
}
