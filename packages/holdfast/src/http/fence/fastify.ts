import type { FastifyHook, FastifyRequestLike, FastifyRequestSeen } from '../fastify.ts'
import { nodeRequest } from '../request.ts'
import { setFields } from '../response-fields.ts'
import { fenceCheck, type RequireFenceOptions } from './fence-check.ts'
import { keepFence } from './request-fence.ts'

/**
 * A hook (`preHandler`, or `onRequest` where `resource` needs no body) that lets a request through only with a fence that its resource
 * accepts, shown in the header `Fencing-Token`. No handler runs, and a problem document is the answer: 428 without a fence, 400
 * with one that cannot be read, 412 with a stale one, 503 when the check's database or table fails. Every other error goes to
 * Fastify's error handler.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function requireFence<Request extends FastifyRequestLike = FastifyRequestSeen>(
  options: RequireFenceOptions<Request>,
): FastifyHook {
  const check = fenceCheck(options)
  return async (given, reply) => {
    const request = given as Request
    const verdict = await check(request, nodeRequest(request.raw))
    if (reply.sent) return reply
    if (verdict.allowed) {
      keepFence(request, verdict.fence)
      return undefined
    }
    reply.code(verdict.status)
    const set = (name: string, value: string): unknown => reply.header(name, value)
    setFields({ get: (name) => reply.getHeader(name), set }, verdict.headers)
    reply.send(verdict.body)
    return reply
  }
}
