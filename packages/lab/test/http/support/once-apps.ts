import { serve, type HttpBindings } from '@hono/node-server'
import express from 'express'
import express4 from 'express4'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import * as onExpress from 'holdfast/express'
import * as onFastify from 'holdfast/fastify'
import * as onHono from 'holdfast/hono'
import type { HttpRequest, IdempotentOptions, RequestIdempotency } from 'holdfast/http'
import * as onKoa from 'holdfast/koa'
import Koa from 'koa'
import { createReadStream } from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import {
  answerByNode,
  BINARY,
  broken,
  FIELDS,
  FILE,
  HUGE,
  ORDER,
  parts,
  slowParts,
  type OnceHandlers,
} from './once-ways.ts'

/** A server whose every POST is idempotent, for tests that are the same for every framework. */
export interface OnceApp {
  readonly url: string
  readonly close: () => Promise<void>
  /** Connections that are open. */
  readonly connections: () => Promise<number>
}

/** Options that mean the same everywhere. */
export type OnceCommon = Omit<IdempotentOptions<never>, 'scope' | 'fingerprint'> & {
  readonly scope?: 'global' | ((request: unknown, view: HttpRequest) => string)
  readonly fingerprint?: false
  /** Who parses bodies: before the middleware (default), or nobody. */
  readonly unparsed?: true
}

export type StartOnce = (
  idempotency: RequestIdempotency,
  common: OnceCommon,
  handlers: OnceHandlers,
) => Promise<OnceApp>

interface OnceShell {
  readonly start: StartOnce
  readonly version: 1 | 2
  /** Paths that answer in ways of the framework's own, beside those that all have. */
  readonly ways: readonly string[]
  /** Paths whose handlers fail, where the framework answers for them. */
  readonly failures: readonly string[]
}

const optionsOf = ({ unparsed: _, scope = byUser, ...rest }: OnceCommon) => ({ ...rest, scope })
const byUser = (_request: unknown, view: HttpRequest) => view.headers.get('x-user') ?? 'ada'

async function listening(server: Server | http.Server | http2.Http2Server): Promise<OnceApp> {
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session: { destroy(): void }) => sessions.add(session))
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, n) => (error ? reject(error) : resolve(n))),
      ),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      if ('closeAllConnections' in server) server.closeAllConnections()
      for (const session of sessions) session.destroy()
      await closed
    },
  }
}

/** Handlers asked with it answer no sooner than `slow`. */
const isLater = (url: string | undefined) => url?.endsWith('?later') === true
const pathOf = (url: string | undefined) => (url ?? '').split('?')[0] as string

async function readAll(request: http.IncomingMessage): Promise<Buffer> {
  const read: Buffer[] = []
  for await (const part of request) read.push(part as Buffer)
  return Buffer.concat(read)
}

/** JSON parsed, all else as bytes, as parsers of bodies do. */
async function parse(request: http.IncomingMessage): Promise<unknown> {
  const bytes = await readAll(request)
  if (bytes.length === 0) return undefined
  return request.headers['content-type'] === 'application/json' ? JSON.parse(bytes.toString()) : bytes
}

const onPlainNode =
  (create: (listener: http.RequestListener) => Server): StartOnce =>
  (idempotency, common, handlers) => {
    const once = onExpress.idempotent<http.IncomingMessage>(idempotency, optionsOf(common))
    const handle = (request: http.IncomingMessage, response: http.ServerResponse) =>
      once(request, response, (error) => {
        if (error !== undefined) {
          response.statusCode = 500
          return response.end((error as Error).message)
        }
        const path = pathOf(request.url)
        handlers.ran(path)
        if (isLater(request.url))
          return void handlers.slow().then(() => answerByNode(path, response, handlers))
        if (!path.startsWith('/status/')) return answerByNode(path, response, handlers)
        response.statusCode = Number(path.slice(8))
        return response.end('x')
      })
    return listening(
      create((request, response) => {
        if (common.unparsed === true) return handle(request, response)
        return void parse(request).then((body) => handle(Object.assign(request, { body }), response))
      }),
    )
  }

const onExpressApp =
  (create: typeof express): StartOnce =>
  (idempotency, common, handlers) => {
    const app = create()
    app.set('env', 'test')
    if (common.unparsed === undefined) app.use(express.json(), express.raw({ type: '*/*' }))
    app.use(onExpress.idempotent<express.Request>(idempotency, optionsOf(common)))
    app.use('/doubled', onExpress.idempotent<express.Request>(idempotency, optionsOf(common)))
    app.use((request, _response, next) => {
      handlers.ran(request.path)
      if (isLater(request.url)) void handlers.slow().then(() => next())
      else next()
    })
    app.use((request, response, next) => {
      if (answerByNode(request.path, response, handlers)) return
      response.set(FIELDS)
      if (request.path === '/json') response.status(201).json(ORDER)
      else if (request.path === '/send') response.send('hello')
      else if (request.path === '/send-buffer') response.send(BINARY)
      else if (request.path === '/send-file') response.sendFile(FILE)
      else if (request.path === '/redirect') response.redirect(303, '/orders/7')
      else if (request.path === '/send-status') response.sendStatus(202)
      else next()
    })
    app.use('/throw', () => {
      throw new Error('a fault of the handler')
    })
    app.use('/reject', (_request, _response, next) => void Promise.reject(new Error('no')).catch(next))
    app.use(
      '/status/:status',
      (request, response) => void response.status(Number(request.params.status)).send('x'),
    )
    return listening(http.createServer(app))
  }

const onFastifyApp =
  (protocol: 1 | 2): StartOnce =>
  async (idempotency, common, handlers) => {
    const app: FastifyInstance =
      protocol === 1 ? fastify() : (fastify({ http2: true }) as unknown as FastifyInstance)
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    const hook = common.unparsed === undefined ? 'preHandler' : 'onRequest'
    app.addHook(hook as 'preHandler', onFastify.idempotent(idempotency, optionsOf(common)))
    app.all('*', async (request, reply) => {
      const path = pathOf(request.url)
      handlers.ran(path)
      if (isLater(request.url)) await handlers.slow()
      if (path === '/throw') throw new Error('a fault of the handler')
      if (path === '/reject') return Promise.reject(new Error('no'))
      if (path.startsWith('/status/')) return reply.code(Number(path.slice(8))).send('x')
      reply.headers(FIELDS)
      if (path === '/json') return reply.code(201).send(ORDER)
      if (path === '/send') return 'hello'
      if (path === '/send-buffer') return BINARY
      if (path === '/send-stream') return reply.type('text/plain').send(Readable.from(parts()))
      if (path === '/send-file') return createReadStream(FILE)
      if (path === '/send-nothing') return reply.code(204).send()
      if (path === '/send-fetch') return new Response('fetched', { status: 201 })
      if (path === '/send-sized') return reply.header('content-length', 13).send(Readable.from(parts()))
      if (path === '/send-broken') return reply.send(Readable.from(broken()))
      reply.hijack()
      answerByNode(path, reply.raw, handlers)
      return reply
    })
    await app.ready()
    const listens = await listening(app.server)
    return { ...listens, close: () => Promise.all([listens.close(), app.close()]).then(() => undefined) }
  }

const onHonoApp: StartOnce = (idempotency, common, handlers) => {
  const app = new Hono<{ Bindings: HttpBindings }>()
  app.onError((error, c) => c.text(error.message, 500))
  app.use(onHono.idempotent(idempotency, optionsOf(common)))
  const stream = (from: () => AsyncGenerator<Buffer>) =>
    Readable.toWeb(Readable.from(from())) as ReadableStream
  const slowly = () => slowParts(handlers)
  async function* huge() {
    for (let at = 0; at < HUGE.length; at += 1_000) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      yield HUGE.subarray(at, at + 1_000)
    }
  }
  app.all('*', async (c) => {
    const { path } = c.req
    handlers.ran(path)
    if (isLater(c.req.url)) await handlers.slow()
    if (path === '/throw' || path === '/reject') throw new Error('a fault of the handler')
    if (path.startsWith('/status/')) return c.text('x', Number(path.slice(8)) as 200)
    for (const [name, value] of Object.entries(FIELDS)) c.header(name, value)
    if (path === '/slow') await handlers.slow()
    if (path === '/json' || path === '/end') return c.json(ORDER, 201)
    if (path === '/empty') return c.body(null, 204)
    if (path === '/redirect') return c.redirect('/orders/7', 303)
    if (path === '/binary') return c.body(BINARY)
    if (path === '/nothing') return new Response('', { headers: FIELDS })
    if (path === '/flushed') return c.body(stream(parts))
    if (path === '/sized') return c.body(stream(parts), 200, { 'content-length': '13' })
    if (path === '/short') return c.body(stream(parts), 200, { 'content-length': '14' })
    if (path === '/write' || path === '/pipe' || path === '/pipeline') return c.body(stream(parts), 202)
    if (path.startsWith('/slow-')) return c.body(stream(slowly))
    if (path === '/huge') return c.body(HUGE)
    if (path === '/huge-stream') return c.body(stream(huge))
    if (path === '/broken') return c.body(stream(broken))
    if (path === '/events') return c.body(stream(slowly), 200, { 'content-type': 'text/event-stream' })
    if (path === '/never') return new Promise<Response>(() => undefined)
    return c.text('hello')
  })
  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () =>
      resolve(listening(server)),
    )
  })
}

const onKoaApp =
  (create: (listener: http.RequestListener) => Server): StartOnce =>
  (idempotency, common, handlers) => {
    const app = new Koa()
    app.silent = true
    app.use(async (context, next) => {
      if (common.unparsed === undefined) Object.assign(context.request, { body: await parse(context.req) })
      await next()
    })
    app.use(onKoa.idempotent<Koa.Context>(idempotency, optionsOf(common)))
    app.use(async (context) => {
      const { path } = context
      handlers.ran(path)
      if (isLater(context.url)) await handlers.slow()
      if (path === '/throw' || path === '/reject') throw new Error('a fault of the handler')
      if (path.startsWith('/status/')) {
        context.status = Number(path.slice(8))
        context.body = 'x'
        return
      }
      context.set(FIELDS)
      if (path === '/json') context.body = ORDER
      else if (path === '/send') context.body = '<p>hello</p>'
      else if (path === '/send-buffer') context.body = BINARY
      else if (path === '/send-stream') context.body = Readable.from(parts())
      else if (path === '/send-file') context.body = createReadStream(FILE)
      else if (path === '/send-nothing') context.body = null
      else if (path === '/send-sized') {
        context.body = Readable.from(parts())
        context.length = 13
      } else if (path === '/send-slowly') {
        const body = new PassThrough()
        body.write('one ')
        void handlers.slow().then(() => body.end('two'))
        context.body = body
      } else if (path === '/send-web') context.body = Readable.toWeb(Readable.from(parts()))
      else if (path === '/redirect') context.redirect('/orders/7')
      else {
        context.respond = false
        context.res.statusCode = 200
        answerByNode(path, context.res, handlers)
      }
    })
    return listening(create((request, response) => void app.callback()(request, response)))
  }

const http1 = (listener: http.RequestListener) => http.createServer(listener)
// The compatibility API: request and response as those of node:http.
const plainHttp2 = (listener: http.RequestListener) =>
  http2.createServer((request, response) =>
    listener(request as unknown as http.IncomingMessage, response as unknown as http.ServerResponse),
  )

/** By the response of Node. */
const NODE_WAYS = [
  '/end',
  '/end-text',
  '/empty',
  '/nothing',
  '/write',
  '/head-pairs',
  '/pipe',
  '/pipeline',
  '/file-pipe',
  '/binary',
  '/twice',
  '/sized',
]
// HTTP/2 has no text beside the status.
const HTTP2_WAYS = NODE_WAYS.filter((way) => way !== '/head-pairs')
const EXPRESS_WAYS = [
  ...NODE_WAYS,
  '/json',
  '/send',
  '/send-buffer',
  '/send-file',
  '/redirect',
  '/send-status',
]
const FASTIFY_WAYS = [
  '/json',
  '/send',
  '/send-buffer',
  '/send-stream',
  '/send-file',
  '/send-nothing',
  '/send-fetch',
  '/send-sized',
]
const KOA_WAYS = [
  '/json',
  '/send',
  '/send-buffer',
  '/send-stream',
  '/send-file',
  '/send-nothing',
  '/send-web',
  '/redirect',
  '/send-sized',
]

const FAILURES = ['/throw', '/reject']

/** Every shell, over HTTP/1.1 and where the framework can over HTTP/2. */
export const onceShells: Readonly<Record<string, OnceShell>> = {
  'node:http': { start: onPlainNode(http1), version: 1, ways: NODE_WAYS, failures: [] },
  'node:http2': { start: onPlainNode(plainHttp2), version: 2, ways: HTTP2_WAYS, failures: [] },
  'Express 4': { start: onExpressApp(express4), version: 1, ways: EXPRESS_WAYS, failures: FAILURES },
  'Express 5': { start: onExpressApp(express), version: 1, ways: EXPRESS_WAYS, failures: FAILURES },
  Fastify: { start: onFastifyApp(1), version: 1, ways: [...NODE_WAYS, ...FASTIFY_WAYS], failures: FAILURES },
  'Fastify over HTTP/2': {
    start: onFastifyApp(2),
    version: 2,
    ways: [...HTTP2_WAYS, ...FASTIFY_WAYS],
    failures: FAILURES,
  },
  Hono: {
    start: onHonoApp,
    version: 1,
    ways: ['/json', '/empty', '/nothing', '/redirect', '/binary', '/pipe', '/text', '/sized'],
    failures: FAILURES,
  },
  Koa: { start: onKoaApp(http1), version: 1, ways: [...NODE_WAYS, ...KOA_WAYS], failures: FAILURES },
  'Koa over HTTP/2': {
    start: onKoaApp(plainHttp2),
    version: 2,
    ways: [...HTTP2_WAYS, ...KOA_WAYS],
    failures: FAILURES,
  },
}
