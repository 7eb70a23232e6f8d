import { serve, type HttpBindings } from '@hono/node-server'
import express from 'express'
import express4 from 'express4'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import * as onExpress from 'holdfast/express'
import * as onFastify from 'holdfast/fastify'
import * as onHono from 'holdfast/hono'
import type { RequestLimiter } from 'holdfast/http'
import * as onKoa from 'holdfast/koa'
import Koa from 'koa'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo, Server } from 'node:net'

/** A server with one limiter before its handlers, for tests that are the same for every framework. */
export interface App {
  readonly url: string
  readonly close: () => Promise<void>
}

/** What the handlers do. */
export interface Handlers {
  /** Called when a handler runs, with what it sees of the decision about its request. */
  onHandled: (remaining: number | undefined) => void
  /** `/slow` answers when this is resolved. */
  slow?: Promise<void>
}

/** Options that mean the same everywhere. */
export interface Common {
  readonly trustedHops?: number
  readonly maxDelay?: number
  /** What `key` gives; default: the client's address. */
  readonly key?: () => string
  readonly skip?: () => boolean
}

/** Starts a server with limiters one after the other, on a free port of loopback. */
export type Start = (limiters: readonly RequestLimiter[], common: Common, handlers: Handlers) => Promise<App>

interface Shell {
  readonly start: Start
  readonly version: 1 | 2
}

/** The options of a shell; each has a `clientAddress` of its own entry. */
function optionsOf(
  { trustedHops, key, maxDelay, skip }: Common,
  shell: Pick<typeof onExpress, 'clientAddress'>,
) {
  const own = key ?? (trustedHops === undefined ? undefined : shell.clientAddress({ trustedHops }))
  return {
    ...(own && { key: own }),
    ...(maxDelay !== undefined && { maxDelay }),
    ...(skip && { skip }),
  }
}

async function listening(
  server: Server | http.Server | http2.Http2Server,
  extra?: () => Promise<unknown>,
): Promise<App> {
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session: { destroy(): void }) => sessions.add(session))
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      if ('closeAllConnections' in server) server.closeAllConnections()
      for (const session of sessions) session.destroy()
      await closed
      await extra?.()
    },
  }
}

const onPlainNode =
  (create: (listener: http.RequestListener) => Server): Start =>
  (limiters, common, { onHandled, slow }) => {
    const [first, ...others] = limiters.map((limiter) =>
      onExpress.rateLimit(limiter, optionsOf(common, onExpress)),
    )
    const server = create((request, response) => {
      const handler = (error?: unknown) => {
        if (error !== undefined) {
          response.statusCode = 500
          response.end('failed')
          return
        }
        onHandled(onExpress.decisionOf(request)?.remaining)
        void Promise.resolve(request.url === '/slow' ? slow : null).then(() => response.end('hello'))
      }
      const run = others.reduceRight<(error?: unknown) => unknown>(
        (next, limit) => (error) => (error === undefined ? limit(request, response, next) : next(error)),
        handler,
      )
      first?.(request, response, run)
    })
    return listening(server)
  }

const onExpressApp =
  (create: typeof express): Start =>
  (limiters, common, { onHandled, slow }) => {
    const app = create()
    app.set('env', 'test')
    for (const limiter of limiters) app.use(onExpress.rateLimit(limiter, optionsOf(common, onExpress)))
    app.use(async (request, response) => {
      onHandled(onExpress.decisionOf(request)?.remaining)
      if (request.path === '/slow') await slow
      response.send('hello')
    })
    return listening(http.createServer(app))
  }

const onFastifyApp =
  (protocol: 1 | 2): Start =>
  async (limiters, common, { onHandled, slow }) => {
    // The types of the two protocols differ in ways that do not matter here.
    const app: FastifyInstance =
      protocol === 1 ? fastify() : (fastify({ http2: true }) as unknown as FastifyInstance)
    for (const limiter of limiters)
      app.addHook('onRequest', onFastify.rateLimit(limiter, optionsOf(common, onFastify)))
    app.all('*', async (request) => {
      onHandled(onFastify.decisionOf(request)?.remaining)
      if (request.url === '/slow') await slow
      return 'hello'
    })
    await app.ready()
    return listening(app.server, () => app.close())
  }

const onHonoApp: Start = (limiters, common, { onHandled, slow }) => {
  const app = new Hono<{ Bindings: HttpBindings }>()
  app.onError((_error, c) => c.text('failed', 500))
  for (const limiter of limiters) app.use(onHono.rateLimit(limiter, optionsOf(common, onHono)))
  app.all('*', async (c) => {
    onHandled(onHono.decisionOf(c)?.remaining)
    if (c.req.path === '/slow') await slow
    return c.text('hello')
  })
  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () =>
      resolve(listening(server)),
    )
  })
}

const onKoaApp =
  (create: (listener: http.RequestListener) => Server): Start =>
  (limiters, common, { onHandled, slow }) => {
    const app = new Koa()
    app.silent = true
    for (const limiter of limiters) app.use(onKoa.rateLimit(limiter, optionsOf(common, onKoa)))
    app.use(async (context) => {
      onHandled(onKoa.decisionOf(context)?.remaining)
      if (context.path === '/slow') await slow
      context.body = 'hello'
    })
    return listening(create((request, response) => void app.callback()(request, response)))
  }

const http1 = (listener: http.RequestListener) => http.createServer(listener)
// The compatibility API: request and response as those of node:http.
const plainHttp2 = (listener: http.RequestListener) =>
  http2.createServer((request, response) =>
    listener(request as unknown as http.IncomingMessage, response as unknown as http.ServerResponse),
  )

/** Every shell, over HTTP/1.1 and where the framework can over HTTP/2. */
export const shells: Readonly<Record<string, Shell>> = {
  'node:http': { start: onPlainNode(http1), version: 1 },
  'node:http2': { start: onPlainNode(plainHttp2), version: 2 },
  'Express 4': { start: onExpressApp(express4), version: 1 },
  'Express 5': { start: onExpressApp(express), version: 1 },
  Fastify: { start: onFastifyApp(1), version: 1 },
  'Fastify over HTTP/2': { start: onFastifyApp(2), version: 2 },
  Hono: { start: onHonoApp, version: 1 },
  Koa: { start: onKoaApp(http1), version: 1 },
  'Koa over HTTP/2': { start: onKoaApp(plainHttp2), version: 2 },
}
