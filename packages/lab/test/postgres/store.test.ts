import { createHoldfast, fixedWindow } from 'holdfast'
import { postgresSchema, postgresStore, type PostgresClient } from 'holdfast/postgres'
import { systemClock } from 'holdfast/testing'
import { Client, Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres, waitFor, type PostgresServer } from '../../src/index.ts'
import { clientKinds, connectStore } from './support.ts'

/** Goal: the store as its callers use it: tables, clients, waking, sweeping. */

let server: PostgresServer
let back: Pool

beforeAll(async () => {
  server = await startPostgres()
  back = new Pool({ connectionString: server.url, max: 3 })
  back.on('error', () => undefined)
  await postgresStore(back).migrate()
})
afterAll(async () => {
  await back.end()
  await server.stop()
})

describe('tables', () => {
  test('eight processes migrate at once; a schema and a prefix of its own', async () => {
    const options = { schema: 'shop', tablePrefix: 'own_' }
    await Promise.all(Array.from({ length: 8 }, () => postgresStore(back, options).migrate()))
    const hf = createHoldfast({ store: postgresStore(back, options) })
    await hf.lock('a').run(async () => {
      expect((await back.query('SELECT owner FROM shop.own_lock')).rows).toHaveLength(1)
    })
    await hf.close()
  })

  test('the printed schema makes what migrate makes', async () => {
    const columns = async (schema: string) =>
      (
        await back.query<Record<string, string>>(
          `SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name FROM information_schema.columns
          WHERE table_schema = $1 ORDER BY 1, 2`,
          [schema],
        )
      ).rows
    await back.query(postgresSchema({ schema: 'printed' }))
    await postgresStore(back, { schema: 'migrated' }).migrate()
    const printed = await columns('printed')
    expect(printed.length).toBeGreaterThan(15)
    expect(printed).toEqual(await columns('migrated'))
  })

  test('tables of a later version are refused, and left as they are', async () => {
    const store = postgresStore(back, { schema: 'later' })
    await store.migrate()
    await back.query("UPDATE later.holdfast_meta SET value = '9'")
    await expect(store.migrate()).rejects.toMatchObject({ code: 'STORE_REFUSED', retryable: false })
  })

  test('wrong options and clients are refused by name', () => {
    const refused = (client: unknown, options: object, option: string) =>
      expect(() => postgresStore(client as PostgresClient, options)).toThrow(`${option}:`)
    refused(back, { schema: 'a"b' }, 'schema')
    refused(back, { tablePrefix: '' }, 'tablePrefix')
    refused(back, { tableprefix: 'x' }, 'tableprefix')
    refused({}, {}, 'client')
    refused('postgres://localhost', {}, 'client')
  })
})

test('a Client of pg that is for the store alone', async () => {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  const [hf, other] = [
    createHoldfast({ store: postgresStore(client) }),
    createHoldfast({ store: postgresStore(back) }),
  ]
  const held = await hf.lock('client').acquire()
  const waiting = other.lock('client').acquire({ wait: '10s' })
  await Promise.all(Array.from({ length: 20 }, (_, i) => hf.lock(`client ${i}`).run(() => undefined)))
  await held.release()
  await (await waiting).release()
  await hf.close()
  await other.close()
  await client.end()
})

test('what Postgres cannot keep in a text comes back as it was', async () => {
  const hf = createHoldfast({ store: postgresStore(back), traceId: () => "it's \\ a\u0001trace" })
  const codec = {
    encode: (value: unknown) => `\u0000\u0001${String(value)}'\\`,
    decode: (text: unknown) => text,
  }
  const kept = hf.idempotency('texts', { codec })
  const run = () => kept.run({ key: "k'\\\u0000", scope: 'a' }, {}, () => 'value')
  await run()
  expect(await run()).toEqual({ value: "\u0000\u0001value'\\", replayed: true })
  await hf.lock("o'clock\\").run(async () => {
    expect(await hf.inspect("o'clock\\")).not.toBeNull()
  })
  await hf.close()
})

describe.each(clientKinds)('waking over %s', (kind) => {
  test('D3: a waiter is woken by the release, and again after its listening connection was lost', async () => {
    const [one, two] = [connectStore(kind, server.url), connectStore(kind, server.url)]
    const [holder, waiter] = [createHoldfast({ store: one.store }), createHoldfast({ store: two.store })]
    const name = `wake over ${kind}`
    const turns: number[] = []
    for (const cut of [false, true]) {
      const held = await holder.lock(name).acquire()
      const waiting = waiter.lock(name).acquire({ wait: '20s' })
      const listens = async () =>
        (await back.query<{ pid: number }>("SELECT pid FROM pg_stat_activity WHERE query ILIKE 'listen%'"))
          .rows
      await waitFor(async () => (await listens()).length > 0, { what: 'the waiter to listen' })
      await waitFor(async () => (await holder.inspect(name))?.waiters === 1, {
        what: 'the waiter to stand in the queue',
      })
      if (cut) {
        const before = await listens()
        await back.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ILIKE 'listen%'`)
        const isAnew = async () => {
          const now = await listens()
          return now.length > 0 && now.every(({ pid }) => !before.some((old) => old.pid === pid))
        }
        await waitFor(isAnew, { what: 'the waiter to listen again', within: 10_000 })
      }
      const released = performance.now()
      await held.release()
      const next = await waiting
      turns.push(performance.now() - released)
      await next.release()
    }
    // Asked by itself, the waiter would come after up to a second.
    expect(Math.min(...turns)).toBeLessThan(500)
    await holder.close()
    await waiter.close()
    await Promise.all([one.close(), two.close()])
  })

  // Whoever is connected may NOTIFY. What a listener throws there ends the process, or its connection.
  test('what strangers say on its channel is not listened to', async () => {
    const { store, close } = connectStore(kind, server.url)
    const hf = createHoldfast({ store })
    const thrown: unknown[] = []
    const hear = (error: unknown): void => void thrown.push(error)
    process.on('uncaughtExceptionMonitor', hear)
    const held = await hf.lock(`noise over ${kind}`).acquire()
    const listening = async () =>
      (await back.query<{ query: string }>(`SELECT query FROM pg_stat_activity WHERE query ILIKE 'listen%'`))
        .rows[0]?.query
    await waitFor(async () => (await listening()) !== undefined, { what: 'the holder to listen' })
    const channel = /"(.*)"/.exec((await listening()) ?? '')?.[1]
    for (const payload of ['noise', '1', 'null', '{}', '[]', '[1,2]', '["a",2]', '"x"'])
      await back.query('SELECT pg_notify($1, $2)', [channel, payload])
    // Told on the same channel, after all of them.
    await hf.forceRelease(`noise over ${kind}`)
    await waitFor(() => held.lost === 'forced', { what: 'the holder to be told', within: 2_000 })
    process.off('uncaughtExceptionMonitor', hear)
    expect(thrown).toEqual([])
    await hf.close()
    await close()
  })
})

test('D15: nothing of the store keeps its listening connection once it is closed', async () => {
  const { store, close } = connectStore('pg', server.url)
  const hf = createHoldfast({ store })
  const held = await createHoldfast({ store: postgresStore(back) })
    .lock('kept')
    .acquire()
  await expect(hf.lock('kept').acquire({ wait: 200 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
  await hf.close()
  await close()
  await held.release()
  const listening = async () =>
    (await back.query("SELECT FROM pg_stat_activity WHERE query ILIKE 'listen \"holdfast_%'")).rows.length
  await waitFor(async () => (await listening()) <= 1, { what: 'the listening connection to go' })
})

test('E15, I7: rows that are over are cleared away by those who write; a name keeps its row with its last fence', async () => {
  const hf = createHoldfast({ store: postgresStore(back), prefix: 'sweep:v1' })
  const old = systemClock.wall() - 100_000
  await back.query(
    `INSERT INTO holdfast_limit SELECT 'sweep:v1:old' || n, 'x', ${old} FROM generate_series(1, 300) n`,
  )
  await back.query(
    `INSERT INTO holdfast_lock SELECT 'sweep:v1:old' || n, 'x', 1, NULL, ${old}, 1 FROM generate_series(1, 300) n`,
  )
  await back.query(`UPDATE holdfast_lock SET expires_at = ${old} - 90000000 WHERE key LIKE 'sweep:v1:old%'`)
  await back.query(
    `INSERT INTO holdfast_lock VALUES ('sweep:v1:recent', NULL, 7, NULL, ${old}, ${old} * 1000)`,
  )
  const limiter = hf.limiter('sweep', fixedWindow({ limit: 1_000_000, per: '1h' }), { budget: '2s' })
  const count = async (table: string) =>
    (await back.query(`SELECT FROM ${table} WHERE key LIKE 'sweep:v1:old%'`)).rows.length
  const work = async (): Promise<void> => {
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        await limiter.take(`s${n}`)
        await hf.lock(`n${n}`).run(() => undefined)
      }),
    )
  }
  for (let i = 0; i < 40 && (await count('holdfast_limit')) + (await count('holdfast_lock')) > 0; i += 1)
    await work()
  expect([await count('holdfast_limit'), await count('holdfast_lock')]).toEqual([0, 0])
  expect((await back.query("SELECT FROM holdfast_lock WHERE key = 'sweep:v1:recent'")).rows).toHaveLength(1)
  await hf.close()
})
