import Database from 'better-sqlite3'
import express from 'express'
import {
  concurrency,
  createHoldfast,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingWindow,
  tokenBucket,
  type Holdfast,
  type Policy,
} from 'holdfast'
import { rateLimit } from 'holdfast/express'
import { memoryStore } from 'holdfast/memory'
import { redisStore } from 'holdfast/redis'
import { sqliteStore } from 'holdfast/sqlite'
import { Redis } from 'ioredis'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisUrlOrStart, waitFor, type RedisToUse } from '../../src/index.ts'
import { ask } from '../http/support/ask.ts'

/**
 * Goal: a slot that is given back gives back itself, and nothing of what came in: a limit of slots beside one of a window, or of a bucket,
 * leaves that as it is.
 * Method: works that are over at once, one after the other, under both, on real stores; and requests over HTTP.
 */

const LIMIT = 5
const BESIDE: Readonly<Record<string, Policy>> = {
  'a fixed window': fixedWindow({ limit: LIMIT, per: '365d' }),
  'an exact window': slidingWindow({ limit: LIMIT, per: '1h' }),
  'a counter': slidingCounter({ limit: LIMIT, per: '365d' }),
  'a token bucket': tokenBucket({ capacity: LIMIT, refill: 1, per: '1h' }),
  'a leaky bucket': leakyBucket({ capacity: LIMIT, rate: 1, per: '1h' }),
}

let redis: RedisToUse
let client: Redis
const database = new Database(':memory:')
const instances = new Map<string, Holdfast>()

beforeAll(async () => {
  redis = await redisUrlOrStart()
  client = new Redis(redis.url)
  instances.set('memory', createHoldfast({ store: memoryStore() }))
  instances.set('sqlite', createHoldfast({ store: sqliteStore(database) }))
  instances.set('redis', createHoldfast({ store: redisStore(client), prefix: `slots:${Date.now()}` }))
})
afterAll(async () => {
  for (const hf of instances.values()) await hf.close()
  client.disconnect()
  database.close()
  await redis.stop()
})

describe.each(['memory', 'sqlite', 'redis'])('E3 on %s', (store) => {
  test.each(Object.entries(BESIDE))('beside %s', async (what, beside) => {
    const hf = instances.get(store) as Holdfast
    const limiter = hf.limiter(what, [beside, concurrency({ limit: 2 })], { budget: '5s', rememberFor: 0 })
    const lefts = async (): Promise<number[]> =>
      (await limiter.peek('ada')).policies.map(({ remaining }) => remaining)
    const taken = []
    for (let i = 0; i < LIMIT; i += 1) {
      const decision = await limiter.take('ada')
      taken.push(decision)
      expect(decision.allowed).toBe(true)
      expect(await decision.slot?.release()).toBe(true)
    }
    const denied = await limiter.take('ada')
    expect([denied.allowed, denied.policy]).toEqual([false, beside.name])
    expect((await lefts())[1]).toBe(2)

    // A refund gives back all that is left of it: here what the slot's return has left.
    expect(await limiter.refund('ada', taken[0] as (typeof taken)[0])).toBe(true)
    expect(await limiter.refund('ada', taken[0] as (typeof taken)[0])).toBe(false)
    const last = await limiter.take('ada')
    expect(last.allowed).toBe(true)
    expect(await limiter.refund('ada', last)).toBe(true)
    const again = await limiter.take('ada')
    expect(again.allowed).toBe(true)
    expect((await limiter.take('ada')).allowed).toBe(false)
    expect(await again.slot?.release()).toBe(true)
  })
})

test('by run, which is denied when the window is full', async () => {
  const hf = instances.get('memory') as Holdfast
  const limiter = hf.limiter('run', [slidingWindow({ limit: LIMIT, per: '1h' }), concurrency({ limit: 2 })])
  for (let i = 0; i < LIMIT; i += 1) await limiter.run('ada', () => i)
  await expect(limiter.run('ada', () => 0, { wait: 0 })).rejects.toMatchObject({ code: 'RATE_LIMITED' })
})

test('over HTTP: requests one after the other are counted, each slot is free when its answer is sent', async () => {
  const hf = instances.get('memory') as Holdfast
  const limiter = hf.limiter('http', [slidingWindow({ limit: LIMIT, per: '1h' }), concurrency({ limit: 2 })])
  const app = express()
  app.use(rateLimit(limiter, { key: () => 'ada' }), (_request, response) => void response.send('hello'))
  const server = http.createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const statuses: number[] = []
  for (let i = 0; i <= LIMIT; i += 1) {
    statuses.push((await ask(url)).status)
    await waitFor(async () => (await limiter.peek('ada')).policies[1]?.remaining !== 0, {
      what: 'a free slot',
    })
  }
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  expect(statuses).toEqual([...Array<number>(LIMIT).fill(200), 429])
})

test('while the store is down, by the local share', async () => {
  const dead = new Redis({ port: 1, host: '127.0.0.1', retryStrategy: () => 50 })
  dead.on('error', () => undefined)
  const hf = createHoldfast({ store: redisStore(dead) })
  const policies = [slidingWindow({ limit: LIMIT, per: '1h' }), concurrency({ limit: 2 })]
  const limiter = hf.limiter('down', policies, { onStoreError: 'local' })
  const allowed: boolean[] = []
  for (let i = 0; i <= LIMIT; i += 1) {
    const { slot, ...decision } = await limiter.take('ada')
    allowed.push(decision.allowed)
    expect(decision.source).toBe('local')
    await slot?.release()
  }
  expect(allowed).toEqual([...Array<boolean>(LIMIT).fill(true), false])
  await hf.close()
  dead.disconnect()
})
