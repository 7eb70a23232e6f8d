import type { Redis } from 'ioredis'
import type { Service } from './service.ts'
import { userOf } from './user.ts'

/**
 * The same by hand: read the count, compare, write it back one higher. It passes every test that sends one request at a time.
 *
 * What is wrong: requests that come at once read the same count, and all write back the same number. So the more a user sends
 * at once, the less is counted, and more than 100 pass: see the test. Changing GET and SET for INCR and EXPIRE helps the count,
 * but a process that dies between the two leaves a count that never ends; and a hundred requests right before the end of a
 * minute and a hundred right after it still pass: `npm run demo -- limit` shows both.
 */
export function naive(redis: Redis): Service {
  return {
    async handle(request, response) {
      const key = `example-naive:${userOf(request)}`
      const count = Number(await redis.get(key))
      if (count >= 100) {
        response.statusCode = 429
        response.end('Too many requests.\n')
        return
      }
      await redis.set(key, count + 1, 'EX', 60)
      response.end(`Hello! ${99 - count} left in this minute.\n`)
    },
    close: async () => undefined,
  }
}
