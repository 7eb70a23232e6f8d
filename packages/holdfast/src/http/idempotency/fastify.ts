import type { FastifyHook, FastifyReplyLike, FastifyRequestLike, FastifyRequestSeen } from '../fastify.ts'
import { nodeRequest } from '../request.ts'
import { goneSignal } from './node-gone.ts'
import { NodeTap, type TappedResponse } from './node-tap.ts'
import type { IdempotentOptions, RequestIdempotency } from './options.ts'
import { parsedBody } from './payload.ts'
import type { Reply } from './recorded.ts'
import { requestOnce } from './request-once.ts'
import { keepRun } from './runs.ts'
import { fieldsByName } from './sent-fields.ts'

/**
 * A hook that lets a request with an `Idempotency-Key` take effect once: `{ preHandler: idempotent(…) }` for one route, or
 * `app.addHook('preHandler', idempotent(…))` for all of a scope. The first request runs the handler, and its answer, by whatever
 * means it is sent, is stored and replayed to repeats with `Idempotent-Replayed: true`.
 *
 * No handler runs, and a problem document is the answer: 400 without a key or with one that cannot be read, 409 while the first
 * request goes on (with `Retry-After`) and when nobody knows what it came to, 422 when the key was used for another payload, 503
 * when the store is down (unless the idempotency's `onStoreError` is `'run'`). Every other error goes to Fastify's error handler.
 *
 * What the handler writes is sent at once, the end of its answer when the outcome is stored. A first request costs two round
 * trips, a repeat one. Promises are those of `hf.idempotency`.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function idempotent<Request extends FastifyRequestLike = FastifyRequestSeen>(
  idempotency: RequestIdempotency,
  options: IdempotentOptions<Request>,
): FastifyHook {
  const once = requestOnce(idempotency, options)
  return (given, reply) =>
    new Promise((resolve, reject) => {
      const request = given as Request
      const raw = reply.raw as TappedResponse
      let tap: NodeTap | null = null
      const asked = {
        request,
        isOwn: true,
        view: nodeRequest(request.raw),
        body: () => bodyOf(request),
        gone: () => goneSignal(raw),
      }
      once
        .handle(asked, async (run) => {
          tap = new NodeTap(raw, { ...once.options, maxBytes: once.maxBytes })
          keepRun(request, run)
          // The hook is over, and the handler runs.
          resolve(undefined)
          return tap.recorded
        })
        .then((verdict) => {
          tap?.release()
          if (verdict.kind === 'free') return resolve(undefined)
          if (verdict.kind !== 'reply' || reply.sent) return resolve(reply)
          answer(reply, verdict.reply)
          resolve(reply)
        })
        .catch((error: unknown) => {
          tap?.release()
          reject(error)
        })
    })
}

function answer(reply: FastifyReplyLike, { status, headers, body }: Reply): void {
  const fields = fieldsByName(headers)
  reply.code(status)
  for (const [name, value] of fields) reply.header(name, value as string)
  const hasType = [...fields.keys()].some((name) => name.toLowerCase() === 'content-type')
  if (body.length === 0 || hasType) return void reply.send((body.length === 0 ? undefined : body) as string)
  // Fastify would give bytes without a type one of its own.
  const past = reply as unknown as RawReply
  past.hijack()
  past.raw.writeHead(status, past.getHeaders())
  past.raw.end(body)
}

/** What is used beside of a reply that is sent past Fastify. */
interface RawReply {
  readonly raw: Pick<TappedResponse, 'writeHead' | 'end'>
  hijack(): unknown
  getHeaders(): object
}

function bodyOf(request: FastifyRequestLike): unknown {
  const { body, rawBody } = request as { body?: unknown; rawBody?: unknown }
  return parsedBody(request.raw, body, rawBody, "at the hook 'preHandler'")
}
