/**
 * One instance: `node … server.ts`, with PORT (default 3000, 0 for any), DATABASE (a SQLite file; default `stock.db`), RISK (default
 * `http://127.0.0.1:3998`) and TTL in milliseconds (default 500). Ends by SIGTERM or Ctrl-C.
 *
 *   POST /items/ITEM?count=1             puts items on sale
 *   GET  /items/ITEM                     { left, sales }
 *   POST /buy/WAY/ITEM?user=USER         WAY: accident, renewed, fenced, outside
 */

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import { createHoldfast } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { ways } from './buy.ts'
import { Stock } from './stock.ts'

const { PORT = '3000', DATABASE = 'stock.db', RISK = 'http://127.0.0.1:3998', TTL = '500' } = process.env

const stock = new Stock(DATABASE)
const locks = new Database(`${DATABASE}.locks`)
const holdfast = createHoldfast({ store: sqliteStore(locks), prefix: 'slow-risk' })

async function answer(request: IncomingMessage): Promise<unknown> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  const [, what, name = '', item = ''] = pathname.split('/')
  if (what === 'items') {
    if (request.method === 'POST') stock.put(name, Number(searchParams.get('count') ?? '1'))
    return { left: stock.left(name), sales: stock.sales(name) }
  }
  const buy = what === 'buy' ? ways[name] : undefined
  if (buy === undefined) return null
  const isTrusted = async (user: string) => {
    const response = await fetch(`${RISK}/trusted/${user}?item=${item}`)
    return (await response.json()) as boolean
  }
  const user = searchParams.get('user') ?? 'somebody'
  return { answer: await buy({ holdfast, stock, isTrusted, ttl: Number(TTL) }, item, user) }
}

const server = createServer((request, response) => {
  answer(request).then(
    (body) => {
      response.writeHead(body === null ? 404 : 200, { 'content-type': 'application/json' })
      response.end(`${JSON.stringify(body)}\n`)
    },
    (error: unknown) => {
      console.error(error)
      response.writeHead(500).end('Something went wrong.\n')
    },
  )
})
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)

/** Answers what is under way, and ends. */
function stop(): void {
  server.close(() => {
    void holdfast.close().finally(() => {
      stock.close()
      locks.close()
    })
  })
  server.closeIdleConnections()
}
