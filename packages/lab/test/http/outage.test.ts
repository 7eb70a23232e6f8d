import { fixedWindow, type LimiterOptions } from 'holdfast'
import { rateLimit } from 'holdfast/express'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'
import { SLACK_MS } from '../support/settling.ts'
import { ask } from './support/ask.ts'

/**
 * Goal: what a client is told while the store of the limits is down, and that it ends by itself.
 * Method: a real Redis behind a proxy that refuses connections or falls silent, then accepts again.
 */

let server: RedisServer
let scene: Scene
let listening: http.Server | null = null

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  scene = await Scene.open(server)
})
afterEach(async () => {
  listening?.closeAllConnections()
  await new Promise((resolve) => (listening === null ? resolve(null) : listening.close(resolve)))
  listening = null
  await scene.end()
})

let handled = 0
/** An application with a limit of a thousand a day. */
async function open(onStoreError: NonNullable<LimiterOptions['onStoreError']>): Promise<string> {
  const policy = fixedWindow({ limit: 1_000, per: '1d', name: 'daily' })
  const limit = rateLimit(scene.hf.limiter(onStoreError, policy, { onStoreError }))
  handled = 0
  const app = http.createServer((request, response) =>
    limit(request, response, () => {
      handled += 1
      response.end('hello')
    }),
  )
  listening = app
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(app.address() as AddressInfo).port}`
}

async function disconnect(): Promise<void> {
  await scene.proxy.refuse()
  scene.proxy.resetAll()
}

const isLimited = async (url: string) =>
  /^"daily";r=\d+;t=\d+$/.test(String((await ask(url)).headers.ratelimit))

describe('while Redis is down', () => {
  test('E2: requests are answered with 503 within the budget, and with 200 when it is back', async () => {
    const url = await open('throw')
    await waitFor(() => isLimited(url), { what: 'the limiter to decide' })
    await disconnect()
    handled = 0
    for (let n = 0; n < 5; n += 1) {
      const began = performance.now()
      const reply = await ask(url)
      expect(performance.now() - began).toBeLessThan(100 + SLACK_MS)
      expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
      expect(JSON.parse(reply.body)).toMatchObject({ status: 503, 'violated-policies': [] })
    }
    expect(handled).toBe(0)
    await scene.proxy.accept()
    await waitFor(() => isLimited(url), { what: 'the limiter to decide again' })
  })

  test('E2: requests pass, untold, where the limiter allows', async () => {
    const url = await open('allow')
    await disconnect()
    const reply = await ask(url)
    expect(reply.status).toBe(200)
    expect(reply.headers).not.toHaveProperty('ratelimit')
    await scene.proxy.accept()
    await waitFor(() => isLimited(url), { what: 'the limiter to decide again' })
  })

  test('E2: requests are refused where the limiter denies, and no quota is said to be exceeded', async () => {
    const url = await open('deny')
    await disconnect()
    const reply = await ask(url)
    expect(reply.status).toBe(429)
    expect(Number(reply.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(JSON.parse(reply.body)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      'violated-policies': [],
    })
  })

  test('E2: requests are limited by the share of this process where the limiter limits locally', async () => {
    const url = await open('local')
    await disconnect()
    expect(await isLimited(url)).toBe(true)
  })
})
