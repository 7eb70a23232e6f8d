import { afterAll, beforeAll, expect, test } from 'vitest'
import { sleep, startPostgres, type PostgresServer } from '../../src/index.ts'
import { benchKinds, openBench } from './benches.ts'
import { transactionalSuite } from './suite.ts'

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

for (const kind of benchKinds) {
  transactionalSuite(kind, () => openBench(kind, server.url), { stopsOthers: kind === 'sqlite' })
}

test.each(['pg', 'postgres.js'] as const)(
  'a transaction that may not write is told as that, and replays what is done (%s)',
  async (kind) => {
    const bench = await openBench(kind, server.url)
    const payments = bench.open().idempotency('pay')
    await payments.run({ key: 'done', scope: 'a' }, {}, () => 'paid')
    const within = (key: string): Promise<unknown> =>
      bench.transact(async ({ given }) => {
        const client = given as Record<'query' | 'unsafe', ((text: string) => Promise<unknown>) | undefined>
        await (client.query?.('SET TRANSACTION READ ONLY') ?? client.unsafe?.('SET TRANSACTION READ ONLY'))
        return payments.run({ key, scope: 'a' }, { transaction: given }, () => 'ran')
      })
    expect(await within('done')).toEqual({ value: 'paid', replayed: true })
    await expect(within('new')).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      details: { reason: '25006' },
      message: expect.stringMatching(/may not write.*READ WRITE.*Roll the transaction back\.$/) as unknown,
    })
    await bench.end()
  },
)

test.each(['pg', 'postgres.js'] as const)(
  'a run that was given up while its transaction was busy writes nothing once that is rolled back (%s)',
  async (kind) => {
    const bench = await openBench(kind, server.url)
    const payments = bench.open().idempotency('pay', { budget: '100ms' })
    let ran = false
    const givenUp = bench.transact(async ({ given }) => {
      const client = given as Record<'query' | 'unsafe', ((text: string) => Promise<unknown>) | undefined>
      const busy = client.query?.('SELECT pg_sleep(0.5)') ?? client.unsafe?.('SELECT pg_sleep(0.5)')
      busy?.catch(() => undefined)
      return payments.run({ key: 'late', scope: 'a' }, { transaction: given }, () => (ran = true))
    })
    await expect(givenUp).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    // What would come too late has come by now.
    await sleep(200)
    expect(await payments.inspect({ key: 'late', scope: 'a' })).toBeNull()
    expect(ran).toBe(false)
    await bench.end()
  },
)
