/**
 * One instance: `node … server.ts`, with PORT (default 3000, 0 for any), REDIS_URL (default `redis://127.0.0.1:6379`), FRESH and LOAD in
 * milliseconds (default 5 000 and 300): how long a value is fresh, and how long it takes to make. Ends by SIGTERM or Ctrl-C.
 *
 *   GET /WAY/NAME     WAY: naive, wait (one makes it, the others wait), stale (the others take the old one)
 *   GET /made/NAME    how often it was made, by all instances
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHoldfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { Cache, naiveCache } from './cache.ts'

const { PORT = '3000', REDIS_URL = 'redis://127.0.0.1:6379', FRESH = '5000', LOAD = '300' } = process.env
const freshFor = Number(FRESH)

const redis = new Redis(REDIS_URL)
redis.on('error', (error: Error) => console.error(`Redis: ${error.message}`))
const holdfast = createHoldfast({ store: redisStore(redis), prefix: 'cache-stampede' })

/** Stands for a query that takes its time. */
async function load(name: string): Promise<string> {
  const number = await redis.incr(`made:${name}`)
  await new Promise((resolve) => setTimeout(resolve, Number(LOAD)))
  return `${name} number ${number}`
}

const waiting = new Cache(redis, holdfast, (name) => load(name), { freshFor, staleFor: 0 })
const stale = new Cache(redis, holdfast, (name) => load(name), { freshFor, staleFor: 60_000 })
const ways: Readonly<Record<string, (name: string) => Promise<string>>> = {
  naive: naiveCache(redis, load, { freshFor, staleFor: 0 }),
  wait: (name) => waiting.read(`wait-${name}`),
  stale: (name) => stale.read(`stale-${name}`),
  made: async (name) => (await redis.get(`made:${name}`)) ?? '0',
}

const server = createServer((request, response) => {
  const [, way = '', name = ''] = (request.url ?? '').split('/')
  const read = ways[way]
  if (read === undefined) return void response.writeHead(404).end()
  read(name).then(
    (value) => response.end(`${value}\n`),
    (error: unknown) => {
      console.error(error)
      response.writeHead(500).end('Something went wrong.\n')
    },
  )
})
server.listen(Number(PORT), '127.0.0.1', 1_024, () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)

/** Answers what is under way, and ends. */
function stop(): void {
  server.close(() => {
    void holdfast.close().finally(() => redis.disconnect())
  })
  server.closeIdleConnections()
}
