import { serve, type HttpBindings } from '@hono/node-server'
import Database from 'better-sqlite3'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { createHoldfast } from 'holdfast'
import * as onExpress from 'holdfast/express'
import * as onFastify from 'holdfast/fastify'
import * as onHono from 'holdfast/hono'
import { fenceHeaders, type RequestFence } from 'holdfast/http'
import * as onKoa from 'holdfast/koa'
import { memoryStore } from 'holdfast/memory'
import { sqliteFence } from 'holdfast/sqlite'
import Koa from 'koa'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

/**
 * Goal: a service takes a request only with a fence that its resource accepts, and every shell does the same.
 * Method: real servers on loopback; the registry is a guard in SQLite.
 */

const database = new Database(':memory:')
const guard = sqliteFence()
const seen: (RequestFence | undefined)[] = []
let failure: Error | null = null

function check(resource: string, fence: bigint, options: { lock?: string }): void {
  if (failure !== null) throw failure
  database.transaction(() => guard.check(database, resource, fence, options)).immediate()
}

interface App {
  readonly url: string
  close(): Promise<void>
}

async function listening(server: http.Server, close: () => Promise<void> = async () => {}): Promise<App> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await close()
    },
  }
}

const resourceOf = (url: string | undefined): string =>
  new URL(url ?? '', 'http://x').searchParams.get('id') ?? ''

function onExpressApp(create: typeof express): Promise<App> {
  const app = create()
  app.set('env', 'test')
  const resource = (request: { url?: string | undefined }): string => resourceOf(request.url)
  app.use('/optional', onExpress.requireFence({ resource, optional: true }))
  app.use('/checked', onExpress.requireFence({ resource, check }))
  app.use((request, response) => {
    seen.push(onExpress.fenceOf(request))
    response.send('done')
  })
  return listening(http.createServer(app))
}

async function onFastifyApp(): Promise<App> {
  const app = fastify()
  const resource = (request: { raw: { url?: string | undefined } }): string => resourceOf(request.raw.url)
  const handler = async (request: object): Promise<string> => {
    seen.push(onFastify.fenceOf(request))
    return 'done'
  }
  app.get('/optional', { preHandler: onFastify.requireFence({ resource, optional: true }) }, handler)
  app.get('/checked', { preHandler: onFastify.requireFence({ resource, check }) }, handler)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return listening(app.server, () => app.close())
}

function onHonoApp(): Promise<App> {
  const app = new Hono<{ Bindings: HttpBindings }>()
  app.onError((_, c) => c.text('failed', 500))
  const resource = (c: { req: { url: string } }): string => resourceOf(c.req.url)
  app.use('/optional', onHono.requireFence({ resource, optional: true }))
  app.use('/checked', onHono.requireFence({ resource, check }))
  app.all('*', (c) => {
    seen.push(onHono.fenceOf(c))
    return c.text('done')
  })
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as http.Server
  return new Promise((resolve) => server.once('listening', () => resolve(listening(server))))
}

function onKoaApp(): Promise<App> {
  const app = new Koa()
  app.silent = true
  const resource = (context: { url: string }): string => resourceOf(context.url)
  const optional = onKoa.requireFence<Koa.Context>({ resource, optional: true })
  const checked = onKoa.requireFence<Koa.Context>({ resource, check })
  app.use((context, next) => (context.path === '/optional' ? optional : checked)(context, next))
  app.use((context) => {
    seen.push(onKoa.fenceOf(context))
    context.body = 'done'
  })
  return listening(http.createServer((request, response) => void app.callback()(request, response)))
}

const shells = {
  'express 5': () => onExpressApp(express),
  'express 4': () => onExpressApp(express4),
  fastify: onFastifyApp,
  hono: onHonoApp,
  koa: onKoaApp,
}

guard.migrate(database)
afterAll(() => void database.close())
beforeEach(() => {
  database.exec('DELETE FROM holdfast_fence')
  failure = null
  seen.length = 0
})

describe.each(Object.entries(shells))('%s', (_, start) => {
  let app: App
  beforeAll(async () => {
    app = await start()
  })
  afterAll(() => app.close())

  async function ask(
    path: string,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; problem: unknown }> {
    const response = await fetch(app.url + path, { headers })
    const text = await response.text()
    const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') === true
    const type = isProblem ? (JSON.parse(text) as { type: string; status: number }) : null
    if (type !== null) expect(type.status).toBe(response.status)
    return { status: response.status, problem: type?.type.replace('urn:holdfast:problem:', '') ?? null }
  }

  test('the fence that is not lower passes, and the handler sees it; the stale one is refused', async () => {
    const done = { status: 200, problem: null }
    expect(await ask('/checked?id=o1', fenceHeaders(5n))).toEqual(done)
    expect(await ask('/checked?id=o1', fenceHeaders(5n))).toEqual(done)
    expect(await ask('/checked?id=o1', fenceHeaders(7n))).toEqual(done)
    expect(await ask('/checked?id=o1', fenceHeaders(6n))).toEqual({ status: 412, problem: 'stale-fence' })
    expect(await ask('/checked?id=o2', fenceHeaders(6n))).toEqual(done)
    expect(seen.map((shown) => [shown?.resource, shown?.fence])).toEqual([
      ['o1', 5n],
      ['o1', 5n],
      ['o1', 7n],
      ['o2', 6n],
    ])
  })

  test('a held lock shows its name, and one resource has one lock', async () => {
    const hf = createHoldfast({ store: memoryStore() })
    await hf.lock('заказ "1", two').run(async (held) => {
      expect(await ask('/checked?id=o1', fenceHeaders(held))).toMatchObject({ status: 200 })
      expect(seen[0]).toEqual({ resource: 'o1', fence: held.fence, options: { lock: held.name } })
    })
    await hf.lock('another').run(async (held) => {
      expect(await ask('/checked?id=o1', fenceHeaders(held))).toEqual({
        status: 412,
        problem: 'foreign-fence',
      })
    })
    await hf.close()
  })

  test('without a fence: 428, unless that is allowed; and what is no fence: 400', async () => {
    expect(await ask('/checked?id=o1')).toEqual({ status: 428, problem: 'fence-missing' })
    expect(await ask('/optional?id=o1')).toEqual({ status: 200, problem: null })
    expect(seen).toEqual([undefined])
    for (const digits of ['0', '-1', '1.5', '0x10', '5, 6', 'abc', '9223372036854775808', '1'.repeat(40)]) {
      const malformed = { status: 400, problem: 'fence-malformed' }
      expect(await ask('/optional?id=o1', { 'Fencing-Token': digits }), digits).toEqual(malformed)
    }
    expect(await ask('/checked?id=o1', { ...fenceHeaders(5n), 'Fencing-Lock': '%E0%A4' })).toMatchObject({
      status: 400,
    })
    expect(seen).toHaveLength(1)
  })

  test('a registry that fails is 503, and any other error is the framework’s', async () => {
    database.exec('ALTER TABLE holdfast_fence RENAME TO elsewhere')
    expect(await ask('/checked?id=o1', fenceHeaders(5n))).toEqual({ status: 503, problem: 'fence-unchecked' })
    database.exec('ALTER TABLE elsewhere RENAME TO holdfast_fence')
    failure = new Error('a bug')
    expect(await ask('/checked?id=o1', fenceHeaders(5n))).toMatchObject({ status: 500 })
    expect(await ask('/checked', fenceHeaders(5n))).toMatchObject({ status: 500 })
    expect(seen).toEqual([])
  })
})

test('wrong options are refused', () => {
  expect(() => onExpress.requireFence({} as never)).toThrow('resource:')
  expect(() => onKoa.requireFence({ resource: () => 'r', chek: check } as never)).toThrow(
    'Did you mean "check"?',
  )
  expect(() => onHono.requireFence({ resource: () => 'r', optional: 1 } as never)).toThrow('optional:')
  expect(() => fenceHeaders({ name: 'l', fence: 5n, fences: 'none' } as never)).toThrow('cannot promise')
})
