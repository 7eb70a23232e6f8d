import type { Connection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startMysql, type MysqlServer } from '../../src/index.ts'
import { transactionalSuite } from './suite.ts'
import { openMysqlBench } from './mysql-bench.ts'

let server: MysqlServer

beforeAll(async () => {
  server = await startMysql()
})
afterAll(() => server.stop())

transactionalSuite('mysql2', () => openMysqlBench(server.url), { stopsOthers: true })

test('a transaction that may not write is told as that', async () => {
  const bench = await openMysqlBench(server.url)
  const payments = bench.open().idempotency('pay')
  const within = bench.transact(async ({ given }) => {
    await (given as Connection).query('ROLLBACK')
    await (given as Connection).query('START TRANSACTION READ ONLY')
    return payments.run({ key: 'k', scope: 'a' }, { transaction: given }, () => 'ran')
  })
  await expect(within).rejects.toMatchObject({
    code: 'STORE_REFUSED',
    details: { reason: '1792' },
    message: expect.stringMatching(/may not write.*READ WRITE/) as unknown,
  })
  await bench.end()
})

test('a plain run beside one that is not committed is in progress, and replays it once it is', async () => {
  const bench = await openMysqlBench(server.url)
  const payments = bench.open().idempotency('pay')
  const ask = { key: 'k', scope: 'a' }
  const plain = (wait: '0ms' | '10s') => payments.run(ask, { wait }, () => 'plain')
  let waited: Promise<unknown> | undefined
  await bench.transact(async ({ given }) => {
    await payments.run(ask, { transaction: given }, () => 'within')
    await expect(plain('0ms')).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
    waited = plain('10s')
  })
  expect(await waited).toEqual({ value: 'within', replayed: true })
  await bench.end()
})
