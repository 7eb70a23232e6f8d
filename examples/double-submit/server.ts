/**
 * One instance: `node … server.ts`, with PORT (default 3000, 0 for any) and DATABASE (a SQLite file; default `orders.db`). Ends by SIGTERM or
 * Ctrl-C.
 *
 *   GET  /?without=LAYERS         the page, with these layers switched off: button, key, idempotency, unique
 *   POST /orders?without=LAYERS   places an order
 */

import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import { createHoldfast } from 'holdfast'
import { idempotent } from 'holdfast/express'
import { sqliteStore } from 'holdfast/sqlite'
import { layersOf } from './layers.ts'
import { Orders } from './orders.ts'
import { page } from './page.ts'

const { PORT = '3000', DATABASE = 'orders.db' } = process.env

const orders = new Orders(DATABASE)
const keys = new Database(`${DATABASE}.keys`)
const holdfast = createHoldfast({ store: sqliteStore(keys), prefix: 'double-submit' })

/** Whoever was authenticated, in a service of yours. */
const userOf = (request: IncomingMessage) => String(request.headers['x-user'] ?? 'ada')

// One record for each user and form: order:submit, the user, the key.
const once = idempotent<IncomingMessage>(holdfast.idempotency('order:submit'), {
  scope: userOf,
  // A second click waits for the answer of the first.
  wait: '10s',
})

interface WithBody extends IncomingMessage {
  body?: { item: string }
}

async function parse(request: WithBody): Promise<void> {
  let text = ''
  for await (const part of request) text += String(part)
  request.body = JSON.parse(text) as { item: string }
}

async function place(request: WithBody, response: ServerResponse): Promise<void> {
  const layers = layersOf(request.url ?? '/')
  const form = String(request.headers['idempotency-key'])
  // To place an order takes its time, as everything that is worth a second click.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const { item } = request.body ?? { item: 'nothing' }
  const order = orders.place(userOf(request), form, item, layers.has('unique'))
  response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(order))
}

function fail(response: ServerResponse, error: unknown): void {
  console.error(error)
  if (!response.headersSent) response.writeHead(500).end('Something went wrong.\n')
}

async function handle(request: WithBody, response: ServerResponse): Promise<void> {
  const url = request.url ?? '/'
  const layers = layersOf(url)
  if (request.method !== 'POST') {
    response.setHeader('content-type', 'text/html')
    response.end(page(randomUUID(), `/orders${url.slice(1)}`, layers))
    return
  }
  await parse(request)
  if (!layers.has('idempotency')) return place(request, response)
  once(request, response, (error) => {
    if (error !== undefined) return fail(response, error)
    place(request, response).catch((failure: unknown) => fail(response, failure))
  })
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => fail(response, error))
})
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)

/** Answers what is under way, and ends. */
function stop(): void {
  server.close(() => {
    void holdfast.close().finally(() => {
      orders.close()
      keys.close()
    })
  })
  server.closeIdleConnections()
}
