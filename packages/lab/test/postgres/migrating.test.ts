import { postgresStore } from 'holdfast/postgres'
import { Client, Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres, waitFor, type PostgresServer } from '../../src/index.ts'
import { clientKinds, connectStore } from './support.ts'

/**
 * Goal: making the tables has an end, whatever the database does, and what is given up leaves nothing half made.
 * Method: a server that stands still, and another who makes the tables and does not come to an end.
 */

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

const UNAVAILABLE = { code: 'STORE_UNAVAILABLE' }

describe.each(clientKinds)('over %s', (kind) => {
  test('the server stands still: told within the budget, and made at the next try', async () => {
    const tables = { tablePrefix: `still_${kind.replace('.', '_')}_` }
    const { store, close } = connectStore(kind, server.url, tables)
    await expect(store.migrate({ budget: 'soon' as never })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    await server.pause()
    const begun = performance.now()
    await expect(store.migrate({ budget: 300 })).rejects.toMatchObject({
      ...UNAVAILABLE,
      outcome: 'not-done',
    })
    expect(performance.now() - begun).toBeLessThan(3_000)
    server.resume()
    await store.migrate()
    await close()
  })

  test('another one is at it and does not end: told within the budget; nothing is made when its turn comes', async () => {
    const tablePrefix = `turn_${kind.replace('.', '_')}_`
    const other = new Client({ connectionString: server.url })
    await other.connect()
    await other.query('BEGIN')
    await other.query(
      `SELECT pg_advisory_xact_lock(hashtextextended('holdfast migrate "${tablePrefix}meta"', 0))`,
    )
    const { store, close } = connectStore(kind, server.url, { tablePrefix })
    await expect(store.migrate({ budget: 400 })).rejects.toMatchObject(UNAVAILABLE)
    await other.query('ROLLBACK')
    const pool = new Pool({ connectionString: server.url })
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%${tablePrefix}%' AND pid <> pg_backend_pid() AND state <> 'idle'`
    await waitFor(async () => (await pool.query(waiting)).rowCount === 0, { what: 'the statement to end' })
    const { rows } = await pool.query<{ there: boolean }>(
      `SELECT to_regclass('${tablePrefix}meta') IS NOT NULL AS there`,
    )
    expect(rows).toEqual([{ there: false }])
    await store.migrate()
    await pool.end()
    await other.end()
    await close()
  })
})

test('over one connection: told within the budget, and the next call has its turn', async () => {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  const store = postgresStore(client, { tablePrefix: 'one_' })
  await server.pause()
  await expect(store.migrate({ budget: 300 })).rejects.toMatchObject(UNAVAILABLE)
  server.resume()
  await store.migrate()
  await client.end()
})
