import type { HonoContextLike, HonoContextSeen, HonoMiddleware } from '../hono.ts'
import { honoRequest } from '../hono-request.ts'
import { answerOnce } from './fetch.ts'
import type { IdempotentOptions, RequestIdempotency } from './options.ts'
import { readBody } from './payload.ts'
import { requestOnce } from './request-once.ts'
import { keepRun } from './runs.ts'

/** What is used of a context of Hono beside what a limiter uses. */
interface AnsweringContext {
  readonly req: {
    readonly raw: {
      readonly bodyUsed?: boolean
      readonly signal?: AbortSignal
      clone(): { arrayBuffer(): Promise<ArrayBuffer> }
    }
    arrayBuffer(): Promise<ArrayBuffer>
  }
  res: Response | undefined
}

/**
 * A middleware that lets a request with an `Idempotency-Key` take effect once: the first one runs the next handlers, and their
 * response, a stream as well, is stored and replayed to repeats with `Idempotent-Replayed: true`. It belongs behind whatever
 * finds out who asks, and behind `bodyLimit`: it reads the body.
 *
 * No handler runs, and a problem document is the answer: 400 without a key or with one that cannot be read, 409 while the first
 * request goes on (with `Retry-After`) and when nobody knows what it came to, 422 when the key was used for another payload, 503
 * when the store is down (unless the idempotency's `onStoreError` is `'run'`). Every other error is thrown, for Hono's `onError`.
 *
 * A body that is there at once is sent when the outcome is stored; of a stream only the end is held back until then. A first
 * request costs two round trips, a repeat one. Promises are those of `hf.idempotency`.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function idempotent<Context extends HonoContextLike = HonoContextSeen>(
  idempotency: RequestIdempotency,
  options: IdempotentOptions<Context>,
): HonoMiddleware {
  const once = requestOnce(idempotency, options)
  return async (given, next) => {
    const context = given as Context
    const answering = context as unknown as AnsweringContext
    const view = honoRequest(context)
    const asked = {
      request: context,
      isOwn: true,
      view,
      body: async () => readBody(view.headers, await bytesOf(answering)),
      gone: () => answering.req.raw.signal,
    }
    const verdict = await answerOnce(once, asked, async (run) => {
      keepRun(context, run)
      await next()
      return answering.res as Response
    })
    if (verdict.kind === 'free') await next()
    if (verdict.kind === 'reply') return verdict.response
    if (verdict.kind === 'own' && verdict.response !== answering.res) {
      // Hono adds the fields of a response that is replaced to the new one, which has them already.
      answering.res = undefined
      answering.res = verdict.response
    }
    return undefined
  }
}

/** The bytes, so that the handler can still read them. */
async function bytesOf({ req }: AnsweringContext): Promise<Uint8Array> {
  // Validators before us have read it, and Hono keeps what they read.
  const source = req.raw.bodyUsed === true ? req : req.raw.clone()
  return new Uint8Array(await source.arrayBuffer())
}
