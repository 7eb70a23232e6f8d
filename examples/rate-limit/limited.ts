import type { ServerResponse } from 'node:http'
import { createHoldfast, slidingWindow } from 'holdfast'
import { decisionOf, rateLimit } from 'holdfast/express'
import { redisStore } from 'holdfast/redis'
import type { Redis } from 'ioredis'
import type { Service } from './service.ts'
import { userOf } from './user.ts'

/**
 * 100 requests per user and minute, however many instances share the Redis. Exact: whatever minute you look at, no more than
 * 100 of a user's requests passed in it.
 */
export function limited(redis: Redis): Service {
  const hf = createHoldfast({ store: redisStore(redis), prefix: 'example' })
  const policy = slidingWindow({ limit: 100, per: '1m', name: 'minute' })
  // A request waits so long for Redis before it is answered with 503. The default is 100 ms.
  const perUser = hf.limiter('api', policy, { budget: '1s' })
  // The middleware of Express serves plain node:http too.
  const limit = rateLimit(perUser, { key: userOf })
  return {
    handle: (request, response) =>
      limit(request, response, (error) => {
        if (error !== undefined) return fail(response, error)
        response.end(`Hello! ${decisionOf(request)?.remaining} left in this minute.\n`)
      }),
    close: () => hf.close(),
  }
}

function fail(response: ServerResponse, error: unknown): void {
  console.error(error)
  response.statusCode = 500
  response.end('Something went wrong.\n')
}
