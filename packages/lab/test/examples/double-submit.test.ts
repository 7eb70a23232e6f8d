import Database from 'better-sqlite3'
import { join } from 'node:path'
import vm from 'node:vm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownFolder, removeFolder } from '../../src/index.ts'
import { programsOf, sendJson, startInstance, type Instance } from './support.ts'

/**
 * Goal: W6. A form that is sent twice is one order, by each of the layers that can see it, and two without them.
 * Method: two instances, each a process; requests of one form at once to both; the page's own script in a small stand-in of a browser.
 */

let folder: string
let shops: Instance[]

beforeAll(async () => {
  folder = ownFolder('double-submit')
  const env = { DATABASE: join(folder, 'orders.db') }
  shops = [await startInstance('double-submit', 'server.ts', { env })]
  shops.push(await startInstance('double-submit', 'server.ts', { env }))
})
afterAll(async () => {
  await Promise.all(shops.map(({ process }) => process.end()))
  removeFolder(folder)
})

const urlOf = (n: number) => (shops[n] as Instance).url

function ordersOf(user: string): number {
  const database = new Database(join(folder, 'orders.db'), { readonly: true })
  const count = (table: string) =>
    database.prepare(`SELECT count(*) FROM ${table} WHERE user = ?`).pluck().get(user) as number
  const orders = count('loose_orders') + count('unique_orders')
  database.close()
  return orders
}

async function pageFor(without: string): Promise<string> {
  return (await sendJson(`${urlOf(0)}/?without=${without}`)).body as string
}

/** The key that one sending of a form goes with. */
const keyOn = (page: string) => /data-key="([^"]*)"/.exec(page)?.[1] || crypto.randomUUID()

/** The same form at once to both instances. @returns what they answered */
async function sentTwice(user: string, without: string) {
  const page = await pageFor(without)
  const send = (n: number, key: string) =>
    sendJson(
      `${urlOf(n)}/orders?without=${without}`,
      { item: 'lamp' },
      { 'x-user': user, 'idempotency-key': key },
    )
  const keys = [keyOn(page), keyOn(page)] as const
  return Promise.all([send(0, keys[0]), send(1, keys[1])])
}

describe('W6: one form, two requests at once, two instances', () => {
  test.each([
    ['', 1],
    ['button', 1],
    ['idempotency', 1],
    ['unique', 1],
    ['idempotency,unique', 2],
    ['key', 2],
  ])('without "%s": %i', async (without, orders) => {
    const user = `user-${without}`
    const answers = await sentTwice(user, without)
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(ordersOf(user)).toBe(orders)
    const [one, two] = answers.map(({ body }) => (body as { id: number }).id)
    expect(one === two).toBe(orders === 1)
  })

  test('the repeat is told by a header, and only where the idempotency answered it', async () => {
    const replays = async (user: string, without: string) =>
      (await sentTwice(user, without)).filter(({ headers }) => headers.get('idempotent-replayed') === 'true')
        .length
    expect([await replays('eve', ''), await replays('mallory', 'idempotency')]).toEqual([1, 0])
  })

  test('another form of the same user, and the same key of another user, are orders of their own', async () => {
    const key = keyOn(await pageFor(''))
    const send = (user: string, own: string) =>
      sendJson(`${urlOf(0)}/orders`, { item: 'lamp' }, { 'x-user': user, 'idempotency-key': own })
    const sent = [
      await send('heidi', key),
      await send('heidi', keyOn(await pageFor(''))),
      await send('ivan', key),
    ]
    expect(sent.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, null, null])
    expect([ordersOf('heidi'), ordersOf('ivan')]).toEqual([2, 1])
  })
})

/** Runs the page's script and clicks. @returns the keys of the requests that it sent */
async function clicks(page: string, times: number): Promise<string[]> {
  const sent: string[] = []
  let submit: (event: { preventDefault(): void }) => unknown = () => undefined
  const button = { disabled: false }
  const form = {
    addEventListener: (_name: string, listener: typeof submit) => (submit = listener),
    querySelector: () => button,
    dataset: { key: /data-key="([^"]*)"/.exec(page)?.[1] },
    elements: { item: { value: 'lamp' } },
  }
  const answer = { text: () => Promise.resolve('') }
  const browser = {
    document: { getElementById: (id: string) => (id === 'order' ? form : {}) },
    crypto,
    fetch: (_url: string, { headers }: { headers: Record<string, string> }) => {
      sent.push(headers['idempotency-key'] as string)
      return Promise.resolve(answer)
    },
  }
  vm.runInNewContext(/<script>([\s\S]*)<\/script>/.exec(page)?.[1] as string, browser)
  for (let n = 0; n < times; n += 1) await submit({ preventDefault: () => undefined })
  return sent
}

describe('W6: the page, clicked twice', () => {
  test('sends once', async () => expect(await clicks(await pageFor(''), 2)).toHaveLength(1))

  test('without the button it sends twice, under one key', async () => {
    const keys = await clicks(await pageFor('button'), 2)
    expect([keys.length, new Set(keys).size]).toEqual([2, 1])
  })

  test('without button and key it sends twice, under two', async () => {
    expect(new Set(await clicks(await pageFor('button,key'), 2)).size).toBe(2)
  })
})

test('the README names every program', () => {
  const { named, there } = programsOf('double-submit')
  expect(named).toEqual(there)
})
