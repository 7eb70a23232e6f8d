import { createHoldfast, type Holdfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { connectClient, type ClientKind, type ConnectedClient } from '../../src/clients.ts'
import { sleep, startProxy, startRedis, waitFor, type RedisServer, type TcpProxy } from '../../src/index.ts'

/**
 * Goal: names that were contended for leave nothing behind: no subscription, no queue, no memory.
 * Method: thousands of names, each held by one process and waited for by another, while the waiter's subscription is cut now
 * and then. A larger number of names can be asked for by HOLDFAST_CHURN_NAMES.
 */

const NAMES = Number(process.env['HOLDFAST_CHURN_NAMES'] ?? 2_000)
/** Before the heap is looked at for the first time: what is kept of names is there by then, and code is compiled. */
const WARM_UP = 1_500
/** So many names are at work at once. */
const AT_ONCE = 50
/** On the average, one cut of the subscription for so many names. */
const NAMES_PER_CUT = 40
/**
 * The heap may grow by so much, whatever the number of names: what the garbage collector and compiler keep for themselves.
 * A name that was not forgotten would take about a kilobyte.
 */
const GROWTH_BYTES = 1_500_000

let server: RedisServer
let proxy: TcpProxy
let clients: ConnectedClient[]
let holder: Holdfast
let waiter: Holdfast

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  await server.command('FLUSHALL')
  proxy = await startProxy({ target: server })
})
afterEach(async () => {
  await Promise.all([holder.close(), waiter.close()])
  for (const client of clients) client.close()
  await proxy.close()
})

async function open(kind: ClientKind): Promise<void> {
  clients = [await connectClient(kind, server.url), await connectClient(kind, proxy.url)]
  const [straight, viaProxy] = clients
  const instance = (client: ConnectedClient | undefined) =>
    createHoldfast({ store: redisStore((client as ConnectedClient).client), prefix: 'churn:v1' })
  holder = instance(straight)
  waiter = instance(viaProxy)
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

async function heapUsed(): Promise<number> {
  for (let i = 0; i < 3; i += 1) {
    collectGarbage()
    await sleep(20)
  }
  return process.memoryUsage().heapUsed
}

async function contend(name: string): Promise<void> {
  const held = await holder.lock(name, { ttl: '1m' }).acquire()
  const waiting = waiter.lock(name, { wait: '30s' }).run(() => undefined)
  await sleep(Math.random() * 20)
  if (Math.random() < 1 / NAMES_PER_CUT) {
    for (const connection of proxy.connections) if (connection.subscribed) connection.reset()
  }
  await held.release()
  await waiting
}

/** Contends for the names from `first` on, a number of them at once. */
async function contendAll(first: number, count: number): Promise<void> {
  let next = first
  const worker = async (): Promise<void> => {
    while (next < first + count) await contend(`order:${(next += 1)}`)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

const channels = async () => (await server.command('PUBSUB', 'CHANNELS', 'churn:v1:*')) as string[]
const keys = async () =>
  ((await server.command('KEYS', '*')) as string[]).filter((key) => key !== 'churn:v1:fence')

test.each(['ioredis', 'redis'] as const)(
  'D6: %s: thousands of names contended once each: no subscription, no key and no memory is left',
  async (kind) => {
    await open(kind)
    await contendAll(0, WARM_UP)
    const before = await heapUsed()
    await contendAll(WARM_UP, NAMES)
    await waitFor(async () => (await keys()).length === 0, { what: 'no queue and no lock' })
    expect((await heapUsed()) - before).toBeLessThan(GROWTH_BYTES)
    // Nobody waits or holds any more: the subscriptions end by themselves …
    await waitFor(async () => (await channels()).length === 0, { what: 'no subscription', within: 5_000 })
    await waitFor(() => proxy.connections.every(({ subscribed }) => !subscribed), {
      what: 'the clients to hear that',
    })
    // … and begin again when they are needed.
    await contend('order:again')
    await waitFor(async () => (await keys()).length === 0, { what: 'no queue and no lock' })
    await Promise.all([holder.close(), waiter.close()])
    await waitFor(async () => (await channels()).length === 0, { what: 'no subscription after close' })
  },
)
