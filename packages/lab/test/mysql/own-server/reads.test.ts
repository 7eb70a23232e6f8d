import { createHoldfast, slidingWindow } from 'holdfast'
import { mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startMysql, type MysqlServer } from '../../../src/index.ts'
import { startCuttingProxy } from '../../postgres/cutting-proxy.ts'

/** Goal: a connection that falls silent while something is read is not lost to its pool: whoever comes next is served. */

let server: MysqlServer

beforeAll(async () => {
  server = await startMysql()
  const back = createPool({ uri: server.url })
  await mysqlStore(back).migrate()
  await back.end()
})
afterAll(() => server.stop())

test('fault 33: after reads that nobody answers the pool has its connections', async () => {
  const proxy = await startCuttingProxy(server)
  const pool = createPool({ uri: `mysql://root@127.0.0.1:${proxy.port}/test`, connectionLimit: 2 })
  const hf = createHoldfast({ store: mysqlStore(pool) })
  const limiter = hf.limiter('api', slidingWindow({ limit: 5, per: '1h' }), { budget: '3s' })
  expect(await limiter.take('u')).toMatchObject({ allowed: true })
  for (let n = 0; n < 3; n += 1) {
    // The first try of each is silent; the next one may have the answer.
    const cut = proxy.cutAt('holdfast_limit', 'silence')
    await limiter.peek('u')
    await cut
  }
  expect(await limiter.take('u')).toMatchObject({ allowed: true, remaining: 3 })
  await hf.close()
  await pool.end()
  await proxy.close()
})
