import type { IdempotentRun } from '../../idempotency/execution.ts'
import type { ExpressMiddleware, ExpressRequestSeen, NodeResponseLike } from '../express.ts'
import { handOn } from '../hand-on.ts'
import { nodeRequest, type NodeRequestLike } from '../request.ts'
import { goneSignal } from './node-gone.ts'
import { NodeTap, type TappedResponse } from './node-tap.ts'
import type { IdempotentOptions, RequestIdempotency } from './options.ts'
import { parsedBody } from './payload.ts'
import type { Reply } from './recorded.ts'
import { requestOnce } from './request-once.ts'
import { keepRun } from './runs.ts'
import { fieldsByName } from './sent-fields.ts'

/**
 * A middleware that lets a request with an `Idempotency-Key` take effect once: the first one runs the handlers, and its answer,
 * by whatever means it is sent, is stored and replayed to repeats with `Idempotent-Replayed: true`. It belongs behind the
 * parsers of bodies, and behind whatever finds out who asks.
 *
 * No handler runs, and a problem document is the answer: 400 without a key or with one that cannot be read, 409 while the first
 * request goes on (with `Retry-After`) and when nobody knows what it came to, 422 when the key was used for another payload, 503
 * when the store is down (unless the idempotency's `onStoreError` is `'run'`). Every other error goes to `next(error)`.
 *
 * What the handler writes is sent at once, the end of its answer when the outcome is stored. A first request costs two round
 * trips, a repeat one. Promises are those of `hf.idempotency`.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function idempotent<Request extends NodeRequestLike = ExpressRequestSeen>(
  idempotency: RequestIdempotency,
  options: IdempotentOptions<Request>,
): ExpressMiddleware {
  const once = requestOnce(idempotency, options)
  const fail = handOn()
  return (given, response, next) => {
    const request = given as Request
    const tapped = response as unknown as TappedResponse
    let tap: NodeTap | null = null
    const runHandlers = (run: IdempotentRun) => {
      tap = new NodeTap(tapped, { ...once.options, maxBytes: once.maxBytes })
      keepRun(request, run)
      const { recorded } = tap
      next()
      return recorded
    }
    const asked = {
      request,
      isOwn: true,
      view: nodeRequest(request),
      body: () => bodyOf(request),
      gone: () => goneSignal(tapped),
    }
    // `next` stands outside of the promise's own errors: what a handler throws must not call it a second time.
    once
      .handle(asked, async (run) => runHandlers(run))
      .then(
        (verdict) => {
          tap?.release()
          if (verdict.kind === 'reply') {
            try {
              answer(response, verdict.reply)
            } catch (error) {
              // A key that was settled by what no answer can be, as a field with a line break.
              fail(error, request, response, next)
            }
          } else if (verdict.kind === 'free') next()
        },
        (error: unknown) => {
          if (tap === null) return fail(error, request, response, next)
          // A handler of plain node:http threw: as it would have without us.
          tap.release()
          throw error
        },
      )
  }
}

function bodyOf(request: NodeRequestLike): unknown {
  const { body, rawBody } = request as { body?: unknown; rawBody?: unknown }
  return parsedBody(request, body, rawBody, 'behind the parser of bodies, as express.json()')
}

function answer(response: NodeResponseLike, { status, headers, body }: Reply): void {
  // Somebody answered meanwhile, as a middleware that watches the time.
  if (response.headersSent) return
  response.statusCode = status
  for (const [name, value] of fieldsByName(headers)) response.setHeader(name, value as string)
  response.end(body as string)
}
