import { createHoldfast } from 'holdfast'
import { redisStore, type IoredisLike } from 'holdfast/redis'
import { createClient } from 'redis5'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { connectClient } from '../../src/clients.ts'
import { sleep, startProxy, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { settle } from '../support/settling.ts'

/**
 * Goal: a client that hands over the reply to another command never makes anybody believe that he holds a lock.
 * Method: a client that swaps the replies of two commands; and node-redis 5, which after a break shifts all its replies by
 * one (when it has no set-up commands, which hang it instead).
 */

const PREFIX = 'mixed:v1'

let server: RedisServer
const ends: (() => unknown)[] = []

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await server.command('FLUSHALL')
})

async function holder() {
  const client = await connectClient('ioredis', server.url)
  ends.push(() => client.close())
  const hf = createHoldfast({ store: redisStore(client.client), prefix: PREFIX })
  ends.push(() => hf.close())
  return hf.lock('theirs').acquire()
}

test('replies to two acquires are swapped: neither is believed, and both are asked again', async () => {
  const theirs = await holder()
  const real = await connectClient('ioredis', server.url)
  ends.push(() => real.close())
  const client = real.client as IoredisLike
  const call: IoredisLike['call'] = client.call.bind(client)
  let swapping = false
  let swapped = 0
  let first: { reply: Promise<unknown>; take: (reply: unknown) => void } | null = null
  const swap = (reply: Promise<unknown>): Promise<unknown> => {
    if (first === null) return new Promise((take) => (first = { reply, take }))
    const other = first
    first = null
    swapped += 1
    void reply.then(other.take)
    return other.reply
  }
  const mixing = new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name !== 'call') return typeof value === 'function' ? (value.bind(target) as unknown) : value
      return (...args: Parameters<typeof call>) => (swapping ? swap(call(...args)) : call(...args))
    },
  })
  const hf = createHoldfast({ store: redisStore(mixing), prefix: PREFIX })
  ends.push(() => hf.close())
  await (await hf.lock('warm-up').acquire()).release()
  swapping = true
  // Two calls: the first goes at once, the second in the next turn.
  const mine = hf.lock('mine').tryAcquire()
  const wanted = hf.lock('theirs').tryAcquire()
  await waitFor(() => swapped > 0, { what: 'a swap' })
  swapping = false
  expect(await wanted).toBeNull()
  expect((await mine)?.lost).toBeNull()
  expect(theirs.lost).toBeNull()
})

test('node-redis 5 shifts its replies by one: nothing false is believed, and the connection is given up', async () => {
  const theirs = await holder()
  const proxy = await startProxy({ target: server })
  ends.push(() => proxy.close())
  const socket = { reconnectStrategy: () => 10 }
  const client = createClient({ url: proxy.url, disableClientInfo: true, socket })
  client.on('error', () => {})
  await client.connect()
  ends.push(() => client.destroy())
  const hf = createHoldfast({ store: redisStore(client), prefix: PREFIX, budget: 600 })
  ends.push(() => hf.close())
  await (await hf.lock('warm-up').acquire()).release()

  let shifted = 0
  for (let round = 0; round < 10; round += 1) {
    // In one turn, so that the client is handed a command while the news of the reset is on its way.
    await new Promise<void>((resolve) => {
      setTimeout(() => {
        proxy.resetAll()
        client.sendCommand(['ECHO', 'never sent']).then(
          (reply) => (shifted += JSON.stringify(reply) === '"never sent"' ? 0 : 1),
          () => {},
        )
        resolve()
      }, 3)
    })
    await waitFor(() => client.isReady, { what: 'the client to be connected again' })
    const wanted = await settle(hf.lock('theirs').tryAcquire())
    // Busy, or not known; never granted.
    expect(wanted.value ?? null).toBeNull()
    const mine = await hf.lock(`mine${round}`).acquire()
    expect(await server.command('GET', `${PREFIX}:{mine${round}}:lock`)).toBe(`${mine.owner}#${mine.fence}`)
    expect(await mine.release()).toMatchObject({ released: true })
  }
  // The client did what the test is about, and the last word is the truth.
  expect(shifted).toBeGreaterThan(0)
  await sleep(20)
  expect(await hf.lock('theirs').tryAcquire()).toBeNull()
  expect(await hf.inspect('theirs')).toMatchObject({ owner: theirs.owner })
  expect(await client.sendCommand(['ECHO', 'well again'])).toBe('well again')
})
