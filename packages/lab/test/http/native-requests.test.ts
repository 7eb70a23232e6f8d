import { serve, type HttpBindings } from '@hono/node-server'
import express, { type Request } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { Hono, type Context } from 'hono'
import { concurrency, createHoldfast, fixedWindow, leakyBucket, tokenBucket, type Holdfast } from 'holdfast'
import * as onExpress from 'holdfast/express'
import * as onFastify from 'holdfast/fastify'
import * as onHono from 'holdfast/hono'
import { nodeRequest, rateLimit } from 'holdfast/http'
import * as onKoa from 'holdfast/koa'
import { memoryStore } from 'holdfast/memory'
import Koa, { type Context as KoaContext } from 'koa'
import http from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { waitFor } from '../../src/index.ts'
import { ask } from './support/ask.ts'

/**
 * Goal: the shells work as the guide shows, with the frameworks' own types and real limiters.
 * Method: small applications over the memory store; that they type-check is half of the test.
 */

let hf: Holdfast
const servers: (Server | http.Server)[] = []

beforeEach(() => {
  hf = createHoldfast({ store: memoryStore() })
})

afterEach(async () => {
  for (const server of servers.splice(0)) {
    if ('closeAllConnections' in server) server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  await hf.close()
})

function urlOf(server: Server | http.Server): string {
  servers.push(server)
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function listen(listener: http.RequestListener): Promise<string> {
  const server = http.createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return urlOf(server)
}

/** Three requests of Ada and one of Bob, at a limit of two. */
async function expectTwoEach(url: string): Promise<void> {
  const by = async (user: string) => (await ask(url, { headers: { 'x-user': user } })).status
  expect([await by('ada'), await by('ada'), await by('ada'), await by('bob')]).toEqual([200, 200, 429, 200])
}

describe('a key of the framework’s own request', () => {
  const perUser = () => hf.limiter('users', fixedWindow({ limit: 2, per: '1d' }))

  test('Express', async () => {
    const app = express()
    app.use(
      onExpress.rateLimit(perUser(), { key: (request: Request) => request.get('x-user') ?? 'nobody' }),
      (request, response) => void response.json({ left: onExpress.decisionOf(request, 'users')?.remaining }),
    )
    await expectTwoEach(await listen(app))
  })

  test('Express, one route, by the address', async () => {
    const app = express()
    const limit = onExpress.rateLimit(perUser())
    app.post('/orders', limit, (_request, response) => void response.send('hello'))
    const url = await listen(app)
    const order = async () => (await ask(url, { method: 'POST', path: '/orders' })).status
    expect([await order(), await order(), await order()]).toEqual([200, 200, 429])
    expect((await ask(url, { path: '/other' })).status).toBe(404)
  })

  test('by the address, with the other options beside it', () => {
    const limiter = perUser()
    onExpress.rateLimit(limiter, {
      key: onExpress.clientAddress({ trustedHops: 1 }),
      skip: (request) => request.url === '/health',
    })
    const byAddress = onFastify.clientAddress({ trustedProxies: ['10.0.0.0/8'] })
    onFastify.rateLimit(limiter, {
      key: (request: FastifyRequest, view) => request.routeOptions.url ?? byAddress(request, view),
      cost: (request) => (request.params === null ? 1 : 2),
    })
    onHono.rateLimit(limiter, {
      key: onHono.clientAddress({ trustedHops: 1 }),
      cost: (c) => c.req.url.length,
    })
    onKoa.rateLimit(limiter, {
      key: onKoa.clientAddress({ trustedHops: 1 }),
      skip: (context) => context.status > 0,
    })
    rateLimit(limiter, {
      key: onExpress.clientAddress({ trustedHops: 1 }),
      cost: ({ method }) => method.length,
    })
    expect(byAddress({ method: 'GET', url: '/', headers: new Headers(), remoteAddress: '1.2.3.4' })).toBe(
      '1.2.3.4',
    )
  })

  test('Fastify', async () => {
    const app = fastify()
    app.addHook(
      'onRequest',
      onFastify.rateLimit(perUser(), {
        key: (request: FastifyRequest) => String(request.headers['x-user']),
        skip: ({ routeOptions }) => routeOptions.url === '/health',
      }),
    )
    app.get('/', (request) => ({ left: onFastify.decisionOf(request)?.remaining }))
    app.get('/health', () => 'well')
    await app.listen({ port: 0, host: '127.0.0.1' })
    const url = urlOf(app.server)
    await expectTwoEach(url)
    expect((await ask(url, { path: '/health' })).headers).not.toHaveProperty('ratelimit')
    await app.close()
  })

  test('Fastify, one route', async () => {
    const app = fastify()
    const key = ({ headers }: FastifyRequest) => String(headers['x-user'])
    app.get('/', { preHandler: onFastify.rateLimit(perUser(), { key }) }, () => 'hello')
    await app.listen({ port: 0, host: '127.0.0.1' })
    await expectTwoEach(urlOf(app.server))
    await app.close()
  })

  test('Hono', async () => {
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.use(onHono.rateLimit(perUser(), { key: (c: Context) => c.req.header('x-user') ?? 'nobody' }))
    app.get('/', (c) => c.json({ left: onHono.decisionOf(c)?.remaining }))
    const server = await new Promise<Server>((resolve) => {
      const made = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(made))
    })
    await expectTwoEach(urlOf(server))
  })

  test('Hono without a server of Node asks for the address, or for a key', async () => {
    const app = new Hono()
    app.onError((error, c) => c.text(error.message, 500))
    app.use('/none', onHono.rateLimit(perUser()))
    app.use('/given', onHono.rateLimit(perUser(), { remoteAddress: () => '203.0.113.9' }))
    app.all('*', () => new Response('hello', { headers: { 'x-own': 'kept' } }))
    const failed = await app.request('/none')
    expect([failed.status, await failed.text()]).toEqual([
      500,
      expect.stringMatching(/^remoteAddress: .* a key\.$/),
    ])
    const given = await app.request('/given')
    expect([given.status, given.headers.get('ratelimit'), given.headers.get('x-own')]).toEqual([
      200,
      expect.stringMatching(/;r=1;t=\d+$/),
      'kept',
    ])
  })

  test('Koa', async () => {
    const app = new Koa()
    app.use(onKoa.rateLimit(perUser(), { key: (context: KoaContext) => context.get('x-user') }))
    app.use((context) => {
      context.body = { left: onKoa.decisionOf(context)?.remaining }
    })
    await expectTwoEach(await listen((request, response) => void app.callback()(request, response)))
  })

  test('a server of its own, over the core', async () => {
    const check = rateLimit(perUser(), { key: ({ headers }) => headers.get('x-user') ?? 'nobody' })
    const url = await listen((request, response) => {
      void check(nodeRequest(request)).then((outcome) => {
        for (const [name, value] of outcome.headers) response.setHeader(name, value)
        if (!outcome.allowed) {
          response.writeHead(outcome.status).end(outcome.body)
          return
        }
        response.end('hello').on('close', () => outcome.finish())
      })
    })
    await expectTwoEach(url)
  })
})

describe('a real limiter', () => {
  const open = (limit: ReturnType<typeof onExpress.rateLimit>) =>
    listen((request, response) => limit(request, response, () => response.end('hello')))

  test('E3: several policies are several members, and what refused is named', async () => {
    const limiter = hf.limiter('both', [
      tokenBucket({ capacity: 1, refill: 1, per: '1h', name: 'burst' }),
      fixedWindow({ limit: 1_000, per: '1d', name: 'daily' }),
    ])
    const url = await open(onExpress.rateLimit(limiter))
    const first = await ask(url)
    expect(first.headers).toMatchObject({
      'ratelimit-policy': '"burst";q=1;w=3600, "daily";q=1000;w=86400',
      ratelimit: expect.stringMatching(/^"burst";r=0;t=3600, "daily";r=999;t=\d+$/) as string,
    })
    const second = await ask(url)
    expect(second.status).toBe(429)
    expect(second.headers.ratelimit).toMatch(/^"burst";r=0;t=(3600|3599), "daily";r=999$/)
    expect(Number(second.headers['retry-after'])).toBeGreaterThanOrEqual(3_590)
    expect(JSON.parse(second.body)).toMatchObject({ 'violated-policies': ['burst'] })
  })

  test('E6: a cost above the capacity is refused without Retry-After', async () => {
    const url = await open(
      onExpress.rateLimit(hf.limiter('few', fixedWindow({ limit: 2, per: '1d' })), { cost: () => 3 }),
    )
    const reply = await ask(url)
    expect(reply.status).toBe(429)
    expect(reply.headers).not.toHaveProperty('retry-after')
  })

  test('E17: a blocked client is told when its block ends', async () => {
    const limiter = hf.limiter('blocking', fixedWindow({ limit: 2, per: '1d', name: 'daily' }))
    await limiter.block('127.0.0.1', '1m')
    const reply = await ask(await open(onExpress.rateLimit(limiter)))
    expect(reply).toMatchObject({
      status: 429,
      headers: { ratelimit: '"daily";r=0;t=60', 'retry-after': '60' },
    })
    expect(JSON.parse(reply.body)).toMatchObject({ 'violated-policies': ['block'] })
  })

  test('E26: a window below a second is printed as one second, and Retry-After is 1', async () => {
    const limiter = hf.limiter('short', tokenBucket({ capacity: 1, refill: 1, per: '900ms', name: 'short' }))
    const url = await open(onExpress.rateLimit(limiter))
    expect((await ask(url)).headers['ratelimit-policy']).toBe('"short";q=1;w=1')
    expect(await ask(url)).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
  })

  test('of concurrent requests counts those that are under way', async () => {
    const limit = onExpress.rateLimit(hf.limiter('slots', concurrency({ limit: 1, name: 'slots' })))
    let go = (): void => undefined
    const slow = new Promise<void>((resolve) => (go = resolve))
    let running = 0
    const url = await listen((request, response) =>
      limit(request, response, () => {
        running += 1
        void slow.then(() => response.end('hello'))
      }),
    )
    const first = ask(url)
    await waitFor(() => running === 1, { what: 'the first request' })
    expect(await ask(url)).toMatchObject({
      status: 429,
      headers: { 'ratelimit-policy': '"slots";q=1;qu="concurrent-requests"' },
    })
    go()
    expect((await first).status).toBe(200)
    await waitFor(async () => (await ask(url)).status === 200, { what: 'the slot to be free again' })
    expect(running).toBe(2)
  })

  test('that shapes refuses those that would wait too long, and gives their places back', async () => {
    const limiter = hf.limiter('line', leakyBucket({ capacity: 10, rate: 1, per: '1h', name: 'line' }))
    const url = await open(onExpress.rateLimit(limiter, { maxDelay: '1s' }))
    const replies = await Promise.all([ask(url), ask(url), ask(url), ask(url)])
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 429, 429, 429])
    // Without giving back it were six. A refund leaves out what has leaked meanwhile.
    expect((await limiter.peek('127.0.0.1')).remaining).toBeGreaterThanOrEqual(8)
  })
})
