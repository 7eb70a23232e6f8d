import { afterAll, beforeAll, expect, test } from 'vitest'
import { startMysql, type MysqlServer } from '../../../src/index.ts'
import { connectStore } from '../support.ts'

/** Goal: making the tables has an end also where the server stands still, and is done by the next call. */

let server: MysqlServer
beforeAll(async () => {
  server = await startMysql()
})
afterAll(() => server.stop())

test('the server stands still: told within the budget, and made at the next try', async () => {
  const { store, close } = await connectStore('promise pool', server.url)
  await expect(store.migrate({ bugdet: 300 } as object)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  await server.pause()
  const begun = performance.now()
  await expect(store.migrate({ budget: 300 })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    outcome: 'not-done',
  })
  expect(performance.now() - begun).toBeLessThan(3_000)
  server.resume()
  await store.migrate()
  await close()
})
