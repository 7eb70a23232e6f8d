import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownFolder, removeFolder, waitFor } from '../../src/index.ts'
import { programsOf, sendJson, startInstance, type Instance } from './support.ts'

/**
 * Goal: W4. A slow call inside a lock of fixed expiry sells what is not there; each of the three mends keeps that from happening.
 * Method: two instances and the risk service as processes; the risk service is slow for the first buyer of each item.
 */

const TTL = 300

let folder: string
let risk: Instance
let shops: Instance[]

beforeAll(async () => {
  folder = ownFolder('slow-risk')
  risk = await startInstance('slow-risk', 'risk-service.ts', { env: { SLOW: String(4 * TTL) } })
  const env = { DATABASE: join(folder, 'stock.db'), RISK: risk.url, TTL: String(TTL) }
  shops = await Promise.all([0, 1].map(() => startInstance('slow-risk', 'server.ts', { env })))
})
afterAll(async () => {
  await Promise.all([risk, ...shops].map(({ process }) => process.end()))
  removeFolder(folder)
})

const urlOf = (n: number) => (shops[n] as Instance).url

/** The first buyer's risk check is slow; the second comes while it goes on. */
async function twoBuyers(way: string, item: string) {
  await sendJson(`${urlOf(0)}/items/${item}?count=1`, {})
  const buy = async (n: number, user: string) => {
    const { status, body } = await sendJson(`${urlOf(n)}/buy/${way}/${item}?user=${user}`, {})
    return status === 200 ? (body as { answer: string }).answer : `failed ${status}`
  }
  const first = buy(0, 'ada')
  await new Promise((resolve) => setTimeout(resolve, 50))
  const second = buy(1, 'grace')
  const answers = [await first, await second]
  return { answers, ...((await sendJson(`${urlOf(0)}/items/${item}`)).body as object) }
}

test('W4: the accident: both sell, and the stock is minus one', async () => {
  expect(await twoBuyers('accident', 'lamp')).toMatchObject({ left: -1, sales: 2 })
})

test('W4: first mend: the lock is renewed, and the second waits', async () => {
  const told = { answers: ['bought', 'sold-out'], left: 0, sales: 1 }
  expect(await twoBuyers('renewed', 'chair')).toEqual(told)
})

test('W4: second mend: the fence refuses the late write', async () => {
  const told = { answers: ['too-late', 'bought'], left: 0, sales: 1 }
  expect(await twoBuyers('fenced', 'table')).toEqual(told)
})

test('W4: third mend: the slow call is outside, and one statement sells', async () => {
  const told = { answers: ['sold-out', 'bought'], left: 0, sales: 1 }
  expect(await twoBuyers('outside', 'shelf')).toEqual(told)
})

test('who is not trusted buys nothing; the README names every program', async () => {
  await sendJson(`${urlOf(0)}/items/mirror?count=1`, {})
  const bought = () => sendJson(`${urlOf(1)}/buy/outside/mirror?user=mallory`, {})
  await waitFor(async () => (await bought()).status === 200, { what: 'an answer' })
  expect((await bought()).body).toEqual({ answer: 'refused' })
  const { named, there } = programsOf('slow-risk')
  expect(named).toEqual(there)
})
