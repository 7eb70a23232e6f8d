/** One instance: `node … server.ts [--naive]`, with PORT (default 3000, 0 for any) and REDIS_URL. Ends by SIGTERM or Ctrl-C. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { limited } from './limited.ts'
import { naive } from './naive.ts'

const { PORT = '3000', REDIS_URL = 'redis://127.0.0.1:6379' } = process.env

const redis = new Redis(REDIS_URL)
// While Redis is away requests are answered with 503, and ioredis tries to reconnect.
redis.on('error', (error: Error) => console.error(`Redis: ${error.message}`))

const service = process.argv.includes('--naive') ? naive(redis) : limited(redis)

const server = createServer((request, response) => {
  if (request.headers['x-user'] === undefined) {
    response.statusCode = 401
    response.end('Say who you are: X-User.\n')
    return
  }
  service.handle(request, response)
})
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)

/** Answers what is under way, and ends. */
function stop(): void {
  server.close(() => {
    void service.close().finally(() => redis.disconnect())
  })
  server.closeIdleConnections()
}
