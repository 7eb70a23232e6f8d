import { PROBLEM_JSON } from './problem.ts'
import type { NodeRequestLike } from './request.ts'

/** What is used of a response of node:http and node:http2 to say that something failed. */
interface FailedResponse {
  statusCode: number
  readonly headersSent: boolean
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

/** Hands an error on, so that no handler runs. */
export type HandOn = (
  error: unknown,
  request: NodeRequestLike,
  response: FailedResponse,
  next: (error?: unknown) => void,
) => void

/**
 * Frameworks have error handlers behind their `next(error)`. For plain node:http `next` is the handler: one that takes no error, as
 * `() => handler(request, response)`, would run as if all were well. There the answer is 500, and a process warning tells the error,
 * once: a client must not fill the log.
 */
export function handOn(): HandOn {
  let isTold = false
  return (error, request, response, next) => {
    // Express, Connect and what is like them set it; there wrappers around `next` may take any number of arguments.
    if (next.length > 0 || request.originalUrl !== undefined) return next(error)
    if (!isTold) warn(error)
    isTold = true
    if (response.headersSent) return
    response.statusCode = 500
    response.setHeader('Content-Type', PROBLEM_JSON)
    response.end(JSON.stringify({ type: 'about:blank', title: 'Internal Server Error', status: 500 }))
  }
}

function warn(error: unknown): void {
  process.emitWarning(
    `A request was answered with 500, since its handler takes no error: ${error instanceof Error ? error.message : String(error)}`,
    {
      type: 'HoldfastWarning',
      code: 'HOLDFAST_ERROR_NOT_TAKEN',
      detail:
        'Let the last argument take it: limit(request, response, (error) => (error ? fail(error) : handler(request, response))). ' +
        'Later errors of this middleware are not told.',
    },
  )
}
