/**
 * One instance: `node … server.ts [--naive]`, with PORT (default 3000, 0 for any), DATABASE (a SQLite file or `postgres://…`; default
 * `orders.db`), PROVIDER (default `http://127.0.0.1:3999`) TTL and WAIT in milliseconds (default 30 000 and 2 000). Ends by SIGTERM or Ctrl-C.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHoldfast } from 'holdfast'
import { callbacksOnce } from './callbacks.ts'
import { Checkout } from './checkout.ts'
import { naivePay } from './naive.ts'
import { OrderBook } from './orders.ts'
import { providerAt } from './provider.ts'
import { service } from './service.ts'
import { openDatabase } from './sql.ts'

const {
  PORT = '3000',
  DATABASE = 'orders.db',
  PROVIDER = 'http://127.0.0.1:3999',
  TTL = '30000',
  WAIT = '2000',
} = process.env
const ttl = Number(TTL)

const database = await openDatabase(DATABASE)
const orders = new OrderBook(database)
const provider = providerAt(PROVIDER)
const holdfast = createHoldfast({ store: database.store, prefix: 'pay-once' })
// Instances that start together would make the same tables at once, which Postgres does not bear.
await holdfast.lock('migrate', { wait: '30s' }).run(() => orders.migrate())
const checkout = new Checkout(holdfast, orders, provider, { ttl, wait: Number(WAIT) })

const naive = naivePay(orders, provider)
const once = callbacksOnce(holdfast, (order, channel) => checkout.pay(order, channel), ttl)
const handleCallback = process.argv.includes('--naive')
  ? ({ order }: { order: string }, channel: string) => naive(order, channel)
  : once

const server = createServer(service({ orders, handleCallback }))
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

// A payer that died is followed by the next callback; where none comes, by this.
const sweeper = setInterval(() => {
  checkout.settleLeftovers().catch((error: unknown) => console.error(error))
}, ttl)

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)

/** Answers what is under way, and ends. */
function stop(): void {
  clearInterval(sweeper)
  server.close(() => {
    void holdfast.close().finally(() => database.close())
  })
  server.closeIdleConnections()
}
