import express, { type Request } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { Hono, type Context } from 'hono'
import { createHoldfast, slidingWindow } from 'holdfast'
import * as onExpress from 'holdfast/express'
import * as onFastify from 'holdfast/fastify'
import * as onHono from 'holdfast/hono'
import * as onKoa from 'holdfast/koa'
import { memoryStore } from 'holdfast/memory'
import Koa from 'koa'
import { expect, test } from 'vitest'

/**
 * Goal: every form of the guides compiles in strict TypeScript, with the frameworks' own types.
 * Method: they are written here as there; the compiler is the judge.
 */

declare module 'express-serve-static-core' {
  interface Request {
    who: { id: string }
  }
}
declare module 'fastify' {
  interface FastifyRequest {
    who: { id: string }
  }
}

const hf = createHoldfast({ store: memoryStore() })
const perUser = hf.limiter('api', slidingWindow({ limit: 100, per: '1m' }))
const orders = hf.idempotency('orders')

test('Express', () => {
  const app = express()
  app.use(onExpress.rateLimit(perUser))
  app.use(onExpress.rateLimit(perUser, { key: (request: Request) => request.who.id }))
  app.use(onExpress.rateLimit(perUser, { skip: (request) => request.url === '/health' }))
  app.post('/a', onExpress.idempotent(orders, { scope: (request: Request) => request.who.id }))
  app.post('/b', onExpress.idempotent(orders, { scope: 'global' }), (request, response) => {
    response.json({ attempt: onExpress.runOf(request)?.attempt })
  })
  const resource = (request: Request) => `order:${String(request.params['id'])}`
  app.use('/orders/:id', onExpress.requireFence({ resource }))
  app.use(onExpress.rateLimit(perUser, { key: (request) => request.ip ?? 'nobody' }))
  app.use(onExpress.rateLimit(perUser, { key: (request) => request.headers.authorization ?? 'nobody' }))
  app.use('/:id', onExpress.requireFence({ resource: (request) => `order:${String(request.params['id'])}` }))
  // What the route says of its parameters reaches the handler behind.
  app.post(
    '/orders/:id',
    onExpress.idempotent(orders, { scope: (request: Request) => request.who.id }),
    (request, response) => void response.json({ id: request.params.id.toUpperCase() }),
  )
  expect(app).toBeDefined()
})

test('Fastify', async () => {
  const app = fastify()
  app.addHook('onRequest', onFastify.rateLimit(perUser))
  app.addHook('preHandler', onFastify.idempotent(orders, { scope: 'global' }))
  app.post('/a', { onRequest: onFastify.rateLimit(perUser) }, async () => 1)
  app.post('/b', { onRequest: onFastify.rateLimit(perUser, { key: (request) => request.ip }) }, async () => 1)
  app.post(
    '/c',
    { preHandler: onFastify.idempotent(orders, { scope: (request) => request.ip }) },
    async () => 1,
  )
  app.post(
    '/d',
    {
      preHandler: [
        onFastify.rateLimit(perUser, { key: (request: FastifyRequest) => request.who.id }),
        onFastify.idempotent(orders, { scope: (request: FastifyRequest) => request.who.id }),
      ],
    },
    async () => 1,
  )
  app.post(
    '/e',
    { preHandler: onFastify.requireFence({ resource: (request) => request.url }) },
    async () => 1,
  )
  app.post<{ Body: { pages: number } }>(
    '/f',
    { preHandler: onFastify.rateLimit(perUser) },
    async (request) => request.body.pages,
  )
  app.route({ method: 'POST', url: '/g', onRequest: onFastify.rateLimit(perUser), handler: async () => 1 })
  await app.ready()
  await app.close()
})

test('Hono', () => {
  interface Env {
    Variables: { user: string }
  }
  const app = new Hono<Env>()
  app.use(onHono.rateLimit(perUser))
  app.use(onHono.rateLimit(perUser, { key: (c: Context<Env>) => c.get('user') }))
  app.post('/b', onHono.idempotent(orders, { scope: (c: Context<Env>) => c.get('user') }), (c) =>
    c.text(c.get('user')),
  )
  app.use(onHono.requireFence({ resource: (c) => c.req.url }))
  app.use(onHono.rateLimit(perUser, { key: (c) => c.req.header('x-user') ?? 'nobody' }))
  app.use(onHono.rateLimit(perUser, { key: (c) => String(c.get('user')) }))
  app.post(
    '/orders/:id',
    onHono.requireFence({ resource: (c) => `order:${c.req.param('id') ?? ''}` }),
    onHono.idempotent(orders, { scope: (c: Context<Env>) => c.get('user') }),
    (c) => c.text(c.req.param('id').toUpperCase()),
  )
  expect(app).toBeDefined()
})

test('Koa', () => {
  const app = new Koa()
  app.use(onKoa.rateLimit(perUser))
  app.use(onKoa.rateLimit(perUser, { key: (ctx: Koa.Context) => ctx.state['user'] as string }))
  app.use(onKoa.idempotent(orders, { scope: (ctx: Koa.Context) => ctx.state['user'] as string }))
  app.use(onKoa.requireFence({ resource: (ctx) => ctx.originalUrl }))
  app.use(onKoa.rateLimit(perUser, { key: (ctx) => ctx.ip }))
  app.use(onKoa.rateLimit(perUser, { key: (ctx) => String(ctx.state['user']) }))
  app.use(onKoa.idempotent(orders, { scope: (ctx) => ctx.get('x-user') }))
  expect(app).toBeDefined()
})
