import type { ExpressMiddleware, ExpressRequestSeen } from '../express.ts'
import { handOn } from '../hand-on.ts'
import { nodeRequest, type NodeRequestLike } from '../request.ts'
import { setFields } from '../response-fields.ts'
import { fenceCheck, type RequireFenceOptions } from './fence-check.ts'
import { keepFence } from './request-fence.ts'

/**
 * A middleware that lets a request through only with a fence that its resource accepts, shown in the header `Fencing-Token`. No handler
 * runs, and a problem document is the answer: 428 without a fence, 400 with one that cannot be read, 412 with a stale one, 503
 * when the check's database or table fails. Every other error goes to `next(error)`.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function requireFence<Request extends NodeRequestLike = ExpressRequestSeen>(
  options: RequireFenceOptions<Request>,
): ExpressMiddleware {
  const check = fenceCheck(options)
  const fail = handOn()
  return (given, response, next) => {
    const request = given as Request
    // `next` stands outside of the promise's own errors: what a handler throws must not call it a second time.
    check(request, nodeRequest(request)).then(
      (verdict) => {
        if (response.headersSent) return
        if (verdict.allowed) {
          keepFence(request, verdict.fence)
          return next()
        }
        response.statusCode = verdict.status
        const set = (name: string, value: string): unknown => response.setHeader(name, value)
        setFields({ get: (name) => response.getHeader(name), set }, verdict.headers)
        response.end(verdict.body)
      },
      (error: unknown) => fail(error, request, response, next),
    )
  }
}
