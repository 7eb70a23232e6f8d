import type { KoaContextLike, KoaContextSeen, KoaMiddleware } from '../koa.ts'
import { nodeRequest } from '../request.ts'
import { answerAnyway } from './koa-answer.ts'
import { goneSignal } from './node-gone.ts'
import { NodeTap, type TappedResponse } from './node-tap.ts'
import type { IdempotentOptions, RequestIdempotency } from './options.ts'
import { parsedBody } from './payload.ts'
import type { Reply } from './recorded.ts'
import { requestOnce } from './request-once.ts'
import { keepRun } from './runs.ts'
import { fieldsByName } from './sent-fields.ts'

/**
 * A middleware that lets a request with an `Idempotency-Key` take effect once: the first one runs the next middlewares, and its
 * answer, by whatever means it is sent (`ctx.body` of every kind, or `ctx.respond = false`), is stored and replayed to repeats
 * with `Idempotent-Replayed: true`. It belongs behind the parser of bodies, and behind whatever finds out who asks.
 *
 * None runs, and a problem document is the answer: 400 without a key or with one that cannot be read, 409 while the first request
 * goes on (with `Retry-After`) and when nobody knows what it came to, 422 when the key was used for another payload, 503 when
 * the store is down (unless the idempotency's `onStoreError` is `'run'`). Every other error is thrown, for Koa's error handling.
 *
 * What is written is sent at once, the end of the answer when the outcome is stored. A first request costs two round trips, a
 * repeat one. Promises are those of `hf.idempotency`.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function idempotent<Context extends KoaContextLike = KoaContextSeen>(
  idempotency: RequestIdempotency,
  options: IdempotentOptions<Context>,
): KoaMiddleware {
  const once = requestOnce(idempotency, options)
  return (given, next) =>
    new Promise((resolve, reject) => {
      const context = given as Context
      const response = context.res as TappedResponse
      let tap: NodeTap | null = null
      const asked = {
        request: context,
        isOwn: true,
        view: { ...nodeRequest(context.req), url: context.originalUrl },
        body: () => bodyOf(context),
        gone: () => goneSignal(response),
      }
      // Koa answers only when the middlewares are done, so this one does not wait for the answer. What they throw Koa answers
      // as well.
      let hasRun = false
      const run = () =>
        void next()
          .finally(() => (hasRun = true))
          .then(() => resolve(), reject)
      once
        .handle(asked, async (given) => {
          const listening = new NodeTap(response, { ...once.options, maxBytes: once.maxBytes })
          tap = listening
          answerAnyway(context, () => hasRun && listening.isRecording)
          keepRun(context, given)
          run()
          return listening.recorded
        })
        .then((verdict) => {
          tap?.release()
          if (verdict.kind === 'free') return run()
          if (verdict.kind === 'reply') answer(context, verdict.reply)
          resolve()
        })
        .catch((error: unknown) => {
          tap?.release()
          reject(error)
        })
    })
}

function bodyOf(context: KoaContextLike): unknown {
  const { request } = context as { request?: { body?: unknown; rawBody?: unknown } }
  return parsedBody(context.req, request?.body, request?.rawBody, 'behind the parser of bodies')
}

function answer(context: KoaContextLike, { status, headers, body }: Reply): void {
  const fields = fieldsByName(headers)
  context.status = status
  context.body = typeof body === 'string' ? body : Buffer.from(body)
  // After the body, which sets a type of its own.
  for (const [name, value] of fields) context.set(name, value as string)
  if (![...fields.keys()].some((name) => name.toLowerCase() === 'content-type'))
    (context.response as unknown as { remove(name: string): void }).remove('Content-Type')
}
