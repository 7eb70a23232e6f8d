/**
 * The risk service, for trying: `node … risk-service.ts`, with PORT (default 3998, 0 for any). `GET /trusted/USER?item=ITEM` trusts
 * everybody but `mallory`. About an item it is slow when it is asked first: SLOW milliseconds (default 1 500), quick afterwards.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const { PORT = '3998', SLOW = '1500' } = process.env
const asked = new Set<string>()

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  const item = searchParams.get('item') ?? ''
  const delay = asked.has(item) ? 5 : Number(SLOW)
  asked.add(item)
  setTimeout(() => response.end(JSON.stringify(pathname !== '/trusted/mallory')), delay)
})
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
  })
