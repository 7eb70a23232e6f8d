import Database from 'better-sqlite3'
import pg from 'pg'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ownFolder, postgresUrlOrStart, removeFolder, waitFor } from '../../src/index.ts'
import { programsOf, sendJson, startInstance, type Instance } from './support.ts'

/**
 * Goal: W1. An order is charged once, whatever becomes of callbacks and instances; its naive twin charges again and again.
 * Method: a provider and three instances, each a process, over SQLite and over Postgres. What was charged is read at the provider.
 */

const TTL = 700
const WAIT = 400
const CHANNELS = ['card', 'wallet']

interface Book {
  readonly address: string
  /** Keeps everybody from writing orders while `work` runs. */
  whileNobodyWrites(work: () => Promise<unknown>): Promise<void>
  close(): Promise<void>
}

async function sqliteBook(): Promise<Book> {
  const folder = ownFolder('pay-once')
  const address = join(folder, 'orders.db')
  return {
    address,
    whileNobodyWrites: async (work) => {
      const database = new Database(address)
      database.exec('BEGIN IMMEDIATE')
      await work()
      database.exec('ROLLBACK')
      database.close()
    },
    close: async () => removeFolder(folder),
  }
}

async function postgresBook(): Promise<Book> {
  const server = await postgresUrlOrStart()
  return {
    address: server.url,
    whileNobodyWrites: async (work) => {
      const client = new pg.Client(server.url)
      await client.connect()
      await client.query('BEGIN; LOCK TABLE orders IN SHARE MODE')
      await work()
      await client.query('ROLLBACK')
      await client.end()
    },
    close: () => server.stop(),
  }
}

interface Charges {
  readonly asked: number
  readonly charges: readonly { readonly attempt: string; readonly order: string; readonly charged: boolean }[]
}

describe.each([
  ['SQLite', sqliteBook],
  ['Postgres', postgresBook],
])('W1 over %s', (kind, open) => {
  let book: Book
  let provider: Instance
  let instances: Instance[]
  let next = 0
  const started: Instance[] = []

  const start = async (...args: string[]): Promise<Instance> => {
    const env = { DATABASE: book.address, PROVIDER: provider.url, TTL: String(TTL), WAIT: String(WAIT) }
    const instance = await startInstance('pay-once', 'server.ts', { args, env })
    started.push(instance)
    return instance
  }

  beforeAll(async () => {
    book = await open()
    provider = await startInstance('pay-once', 'mock-provider.ts')
    instances = await Promise.all([start(), start(), start()])
  })
  afterAll(async () => {
    await Promise.all([...started, provider].map(({ process }) => process.end()))
    await book.close()
  })
  beforeEach(() => slow({}))

  const slow = (delay: { ms?: number; before?: number }) => sendJson(`${provider.url}/delay`, delay)
  const urlOf = (n: number) => (instances[n % instances.length] as Instance).url
  const callback = async (n: number, order: string, channel: string, id = `${channel}-${order}`) => {
    const { status, body } = await sendJson(`${urlOf(n)}/callbacks/${channel}`, { id, order })
    return { status, answer: (body as { answer?: string }).answer }
  }
  const statusOf = async (order: string) =>
    ((await sendJson(`${urlOf(0)}/orders/${order}`)).body as { status: string }).status
  const charged = async (order: string) => {
    const { charges } = (await sendJson(`${provider.url}/charges`)).body as Charges
    return charges.filter((charge) => charge.order === order && charge.charged).length
  }
  const newOrder = async (kindOfOrder = 'order') => {
    const id = `${kindOfOrder}-${kind}-${(next += 1)}`
    expect((await sendJson(`${urlOf(0)}/orders`, { id, amount: 4_900 })).status).toBe(201)
    return id
  }
  /** Repeats a callback, as channels do, until it has an answer. */
  const insist = (n: number, order: string, channel: string) =>
    waitFor(
      async () => {
        const { status, answer } = await callback(n, order, channel)
        return status === 200 && answer
      },
      { what: `an answer about ${order}`, within: 15_000, every: 100 },
    )

  test('callbacks tripled, by two channels, on three instances: one charge for each order', async () => {
    const orders = await Promise.all(Array.from({ length: 5 }, () => newOrder()))
    await slow({ ms: 60, before: 30 })
    const calls = orders.flatMap((order) =>
      CHANNELS.flatMap((channel) => [0, 1, 2].map((n) => ({ n, order, channel }))),
    )
    const first = await Promise.all(calls.map(({ n, order, channel }) => callback(n, order, channel)))
    for (const { status, answer } of first)
      if (status !== 503) expect(['200 paid', '200 already-paid']).toContain(`${status} ${answer}`)
    const last = await Promise.all(calls.map(({ n, order, channel }) => insist(n + 1, order, channel)))
    expect(new Set(last)).toEqual(new Set(['paid', 'already-paid']))
    for (const order of orders) expect([await statusOf(order), await charged(order)]).toEqual(['paid', 1])
  })

  test('a callback that comes late, and one with an id of its own, find the order paid', async () => {
    const order = await newOrder()
    expect((await callback(0, order, 'card')).answer).toBe('paid')
    expect((await callback(1, order, 'card')).answer).toBe('paid')
    expect((await callback(2, order, 'card', 'another-id')).answer).toBe('already-paid')
    expect((await callback(0, order, 'wallet')).answer).toBe('already-paid')
    expect(await charged(order)).toBe(1)
  })

  test('the answers: cancelled, declined and tried again, unknown, another order under the same id', async () => {
    const cancelled = await newOrder()
    expect((await sendJson(`${urlOf(1)}/orders/${cancelled}/cancel`, {})).status).toBe(200)
    expect((await callback(0, cancelled, 'card')).answer).toBe('cancelled')
    const declined = await newOrder('declined')
    for (const id of ['try-1', 'try-2'])
      expect((await callback(0, declined, 'card', `${id}-${kind}`)).answer).toBe('declined')
    expect([await statusOf(declined), await charged(declined)]).toEqual(['pending', 0])
    expect((await callback(0, 'no-such-order', 'card')).status).toBe(404)
    const order = await newOrder()
    await callback(0, order, 'card', `shared-${kind}`)
    expect((await callback(0, await newOrder(), 'card', `shared-${kind}`)).status).toBe(422)
  })

  test('while one pays: in progress, and it cannot be cancelled', async () => {
    const order = await newOrder()
    await slow({ ms: 1_500 })
    const first = callback(0, order, 'card')
    await waitFor(() => charged(order), { what: 'the charge' })
    const [same, other] = await Promise.all([callback(1, order, 'card'), callback(2, order, 'wallet')])
    expect([same, other].map(({ status, answer }) => `${status} ${answer}`)).toEqual([
      '503 in-progress',
      '503 in-progress',
    ])
    expect((await sendJson(`${urlOf(1)}/orders/${order}/cancel`, {})).status).toBe(409)
    expect((await first).answer).toBe('paid')
    expect(await charged(order)).toBe(1)
  })

  test.each<[string, { ms?: number; before?: number }]>([
    ['before the provider has charged', { before: 900 }],
    ['after it, and before anybody knows', { ms: 900 }],
  ])(
    'an instance is killed in mid-payment, %s: the next caller ends it, one charge',
    async (_when, delay) => {
      const order = await newOrder()
      const victim = await start()
      await slow(delay)
      const dead = sendJson(`${victim.url}/callbacks/card`, { id: `card-${order}`, order }).catch(() => null)
      await waitFor(async () => (await statusOf(order)) === 'paying', { what: 'the payment to begin' })
      if (delay.ms !== undefined) await waitFor(() => charged(order), { what: 'the charge' })
      await victim.process.kill()
      await dead
      await slow({})
      const answers = await Promise.all([insist(0, order, 'card'), insist(1, order, 'wallet')])
      // Both "already" where the sweeper was quicker.
      for (const answer of answers) expect(['paid', 'already-paid']).toContain(answer)
      expect([await statusOf(order), await charged(order)]).toEqual(['paid', 1])
    },
  )

  test('the provider has charged, the database refuses to write it down, the next caller enters: one charge', async () => {
    const order = await newOrder()
    await slow({ ms: 300 })
    const first = callback(0, order, 'card')
    await waitFor(() => charged(order), { what: 'the charge' })
    await book.whileNobodyWrites(async () => {
      expect((await first).status).toBe(500)
      expect(await statusOf(order)).toBe('paying')
    })
    // "already": where the sweeper was quicker.
    expect(await insist(1, order, 'wallet')).toMatch(/^(already-)?paid$/)
    expect([await statusOf(order), await charged(order)]).toEqual(['paid', 1])
  })

  test('an order that was left in "paying" is settled though nobody calls', async () => {
    const order = await newOrder()
    const victim = await start()
    await slow({ ms: 1_500 })
    const dead = sendJson(`${victim.url}/callbacks/card`, { id: `card-${order}`, order }).catch(() => null)
    await waitFor(() => charged(order), { what: 'the charge' })
    await victim.process.kill()
    await dead
    await waitFor(async () => (await statusOf(order)) === 'paid', {
      what: 'the sweeper',
      within: 15_000,
      every: 100,
    })
    expect(await charged(order)).toBe(1)
  })

  test('by hand, with a look before the charge, an order is charged more than once', async () => {
    const naive = await start('--naive')
    const order = await newOrder()
    await slow({ ms: 100 })
    const three = [1, 2, 3].map(() => sendJson(`${naive.url}/callbacks/card`, { id: `card-${order}`, order }))
    await Promise.all(three)
    expect(await charged(order)).toBe(3)
  })

  test('ends by SIGTERM', async () => {
    expect(await (started[0] as Instance).process.end({ within: 5_000 })).toEqual({ code: 0, signal: null })
  })
})

test('the README names every program, and no other', () => {
  const { named, there } = programsOf('pay-once')
  expect(named).toEqual(there)
})
