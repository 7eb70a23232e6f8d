/**
 * A provider of payments for trying: `node … mock-provider.ts`, with PORT (default 3999, 0 for any). It charges once for each
 * idempotency key and remembers it. `POST /delay {ms, before}` makes it slow before or after it has charged; `declined-…` orders are
 * declined. `GET /charges` lists what it charged.
 */

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Charge {
  readonly attempt: string
  readonly order: string
  readonly charged: boolean
}

const charges = new Map<string, Charge>()
let asked = 0
let delay = { ms: 0, before: 0 }

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

async function answer(request: IncomingMessage): Promise<unknown> {
  const { method, url = '' } = request
  const body = await bodyOf(request)
  if (method === 'POST' && url === '/delay') return (delay = { ms: 0, before: 0, ...(body as object) })
  if (method === 'GET' && url === '/charges') return { asked, charges: [...charges.values()] }
  if (method === 'GET') return charges.get(url.slice('/charges/'.length)) ?? null
  asked += 1
  await pause(delay.before)
  const attempt = String(request.headers['idempotency-key'])
  const { order } = body as { order: string }
  const charge = charges.get(attempt) ?? { attempt, order, charged: !order.startsWith('declined-') }
  charges.set(attempt, charge)
  await pause(delay.ms)
  return charge
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const part of request) text += String(part)
  return text === '' ? null : JSON.parse(text)
}

const server = createServer((request, response) => {
  void answer(request).then((found) => {
    response.writeHead(found === null ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(found))
  })
})
server.listen(Number(process.env['PORT'] ?? '3999'), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
  })
