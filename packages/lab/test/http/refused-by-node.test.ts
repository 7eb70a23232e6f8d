import express from 'express'
import express4 from 'express4'
import { createHoldfast, fixedWindow, type Holdfast, type Idempotency } from 'holdfast'
import * as onExpress from 'holdfast/express'
import { memoryStore } from 'holdfast/memory'
import * as onKoa from 'holdfast/koa'
import Koa from 'koa'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { post, type Answer } from './support/post.ts'

/**
 * Goal: what Node refuses is no answer: neither of a handler, nor of us. It never ends the process, never leaves a client without
 * an answer, and is never stored as what the handler came to.
 * Method: handlers whose calls of the response throw, in frameworks that answer for them by 500; keys that an operator settled by
 * what no answer can be; handlers of plain node:http that take no error. An unhandled rejection fails the test's run.
 */

let hf: Holdfast
let orders: Idempotency
const servers: http.Server[] = []

beforeEach(() => {
  hf = createHoldfast({ store: memoryStore() })
  orders = hf.idempotency('orders')
})

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  await hf.close()
})

async function listen(listener: http.RequestListener): Promise<string> {
  const server = http.createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function order(url: string, key = 'k-1'): Promise<Answer> {
  return post(url, { path: '/orders', headers: { 'idempotency-key': key } })
}

type Send = (response: http.ServerResponse) => unknown

const REFUSED: Readonly<Record<string, Send>> = {
  'end(number)': (response) => response.end(42),
  'end(object)': (response) => response.end({ ok: true }),
  'write(number)': (response) => response.write(42),
  'write(null)': (response) => response.write(null),
  'write under a wrong status': (response) => {
    response.statusCode = 1_000
    response.setHeader('content-length', '1')
    response.write('x')
  },
  'end under a wrong status': (response) => {
    response.statusCode = 1_000
    response.end('x')
  },
  'end under a wrong status text': (response) => {
    response.statusMessage = 'a\nb'
    response.end('x')
  },
  'writeHead of a wrong status': (response) => response.writeHead(1_000).end('x'),
  'writeHead with a line break': (response) => response.writeHead(201, { location: 'a\nb' }).end('x'),
  'writeHead with a wrong name': (response) => response.writeHead(201, { 'a b': 'c' }).end('x'),
  'flushHeaders of a wrong status': (response) => {
    response.statusCode = 1_000
    response.flushHeaders()
  },
}

const SERVERS: Readonly<Record<string, (send: Send) => http.RequestListener>> = {
  'Express 4': (send) => onExpressApp(express4, send),
  'Express 5': (send) => onExpressApp(express, send),
  Koa: (send) => {
    const app = new Koa()
    app.silent = true
    app.use(onKoa.idempotent(orders, { scope: 'global' }))
    app.use((context) => {
      context.respond = false
      send(context.res)
    })
    const listener = app.callback()
    return (request, response) => void listener(request, response)
  },
}

function onExpressApp(create: typeof express, send: Send): http.RequestListener {
  const app = create()
  app.set('env', 'test')
  app.use(onExpress.idempotent(orders, { scope: 'global' }), (_request, response) => void send(response))
  return app
}

describe.each(Object.entries(SERVERS))('%s', (_name, create) => {
  test.each(Object.entries(REFUSED))('F8: %s: 500, and the key is free', async (_way, refused) => {
    const ways = [refused, refused, (response: http.ServerResponse) => response.writeHead(200).end('done')]
    const url = await listen(create((response) => ways.shift()?.(response)))
    const answers = [await order(url), await order(url), await order(url), await order(url)]
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 200, 200])
    expect(answers.map(({ headers }) => headers['idempotent-replayed'])).toEqual([
      undefined,
      undefined,
      undefined,
      'true',
    ])
    expect(answers[0]?.headers).not.toHaveProperty('location')
  })
})

describe('a key that was settled by what is no answer', () => {
  const VALUES: Readonly<Record<string, unknown>> = {
    'a wrong status': { status: 1_000, headers: [], body: '' },
    'a status before the answer': { status: 100, headers: [], body: '' },
    'fields in turn': { status: 201, headers: ['location', '/orders/7'], body: '' },
    'a field without value': { status: 201, headers: [['location']], body: '' },
    'a field that is nothing': { status: 201, headers: [null], body: '' },
    'a field that is a number': { status: 201, headers: [['x', 7]], body: '' },
    'a line break': { status: 201, headers: [['location', 'a\nb']], body: '' },
    'a wrong name': { status: 201, headers: [['a b', 'c']], body: '' },
  }

  test.each(Object.entries(VALUES))('F6: %s is an error of the request alone', async (_what, value) => {
    const app = express()
    app.set('env', 'test')
    let ran = 0
    app.use(onExpress.idempotent(orders, { scope: 'global', maxRun: 10 }), () => void (ran += 1))
    const url = await listen(app)
    const key = { key: 'POST /orders k-1', scope: 'global' }
    await orders.run(key, {}, () => Promise.resolve(value))
    expect((await order(url)).status).toBe(500)
    expect(ran).toBe(0)
  })
})

describe('a handler of plain node:http that takes no error does not run for one', () => {
  const fails = () => {
    throw new Error('no user')
  }
  const middlewares = {
    rateLimit: () =>
      onExpress.rateLimit(hf.limiter('all', fixedWindow({ limit: 9, per: '1d' })), { key: fails }),
    idempotent: () => onExpress.idempotent(orders, { scope: fails }),
    requireFence: () => onExpress.requireFence({ resource: fails }),
  }

  test.each(Object.entries(middlewares))('%s: 500, told once', async (_name, create) => {
    const told: Error[] = []
    const listener = (warning: Error) => void told.push(warning)
    process.on('warning', listener)
    try {
      const middleware = create()
      let ran = 0
      const url = await listen((request, response) =>
        middleware(request, response, () => {
          ran += 1
          response.end('done')
        }),
      )
      const headers = { 'idempotency-key': 'k', 'fencing-token': '1' }
      const answers = [await post(url, { path: '/', headers }), await post(url, { path: '/', headers })]
      expect(answers.map(({ status }) => status)).toEqual([500, 500])
      expect(ran).toBe(0)
      expect(told).toEqual([expect.objectContaining({ code: 'HOLDFAST_ERROR_NOT_TAKEN' })])
      expect(told[0]?.message).toContain('no user')
    } finally {
      process.off('warning', listener)
    }
  })

  test('one that takes it is told, as before', async () => {
    const limit = middlewares.rateLimit()
    const url = await listen((request, response) =>
      limit(request, response, (error) => {
        response.statusCode = 418
        response.end((error as Error).message)
      }),
    )
    const { status, body } = await post(url, { path: '/' })
    expect([status, body.toString()]).toEqual([418, 'no user'])
  })

  test('with a next of Express, whatever its arity, the error handler answers', async () => {
    const app = express()
    app.use((request, response, next) => {
      middlewares.rateLimit()(request, response, (...given) => next(...(given as [])))
    })
    app.use((_error: Error, _request: express.Request, response: express.Response, _next: () => void) => {
      response.status(418).send('handled')
    })
    expect((await post(await listen(app), { path: '/' })).status).toBe(418)
  })
})
