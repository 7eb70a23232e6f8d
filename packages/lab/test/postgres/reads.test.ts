import { createHoldfast, slidingWindow } from 'holdfast'
import { postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres, type PostgresServer } from '../../src/index.ts'
import { startCuttingProxy } from './cutting-proxy.ts'

/** Goal: a connection that falls silent while something is read is not lost to its pool: whoever comes next is served. */

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
  const back = new Pool({ connectionString: server.url })
  await postgresStore(back).migrate()
  await back.end()
})
afterAll(() => server.stop())

// Not over postgres.js, which has no way to end one connection.
test('fault 33: after reads that nobody answers the pool has its connections', async () => {
  const proxy = await startCuttingProxy(server)
  const pool = new Pool({ connectionString: `postgres://postgres@127.0.0.1:${proxy.port}/postgres`, max: 2 })
  const hf = createHoldfast({ store: postgresStore(pool) })
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
