import { createHoldfast, type Holdfast } from 'holdfast'
import { postgresStore } from 'holdfast/postgres'
import { Pool, type PoolClient } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startPostgres, waitFor, type PostgresServer } from '../../src/index.ts'

/**
 * Goal: the guide "A lock is not a transaction" is right. Method: two sellers take one piece each from a stock of ten: read, compute, write, as
 * code behind a lock does. The second goes as soon as it can; the first commits only when the second has begun to read.
 */

let server: PostgresServer
let pool: Pool
let sellers: readonly [Holdfast, Holdfast]

beforeAll(async () => {
  server = await startPostgres()
  pool = new Pool({ connectionString: server.url, max: 20 })
  await postgresStore(pool).migrate()
  await pool.query('CREATE TABLE stock (id int PRIMARY KEY, pieces int NOT NULL)')
  const open = (): Holdfast => createHoldfast({ store: postgresStore(pool) })
  sellers = [open(), open()]
})
afterAll(async () => {
  for (const seller of sellers) await seller.close()
  await pool.end()
  await server.stop()
})
beforeEach(() => pool.query('INSERT INTO stock VALUES (1, 10) ON CONFLICT (id) DO UPDATE SET pieces = 10'))

/** What the transaction of a sale does. Gives back what it read. */
async function sellOne(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ pieces: number }>('SELECT pieces FROM stock WHERE id = 1')
  const pieces = rows[0]?.pieces ?? 0
  await client.query('UPDATE stock SET pieces = $1 WHERE id = 1', [pieces - 1])
  return pieces
}

async function inTransaction(work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  await client.query('BEGIN')
  await work(client)
  await client.query('COMMIT')
  client.release()
}

/** The second seller's sale, by the book. */
const sellSecond = (): Promise<void> =>
  sellers[1]
    .lock('stock:1', { wait: '20s' })
    .run(() => inTransaction(async (client) => void (await sellOne(client))))

/** Resolves when a transaction waits for another's row. */
const isAnyWaiting = async (): Promise<boolean> => {
  const { rows } = await pool.query(
    `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE stock%'`,
  )
  return rows.length > 0
}

async function piecesLeft(): Promise<number | undefined> {
  return (await pool.query<{ pieces: number }>('SELECT pieces FROM stock')).rows[0]?.pieces
}

test('released before the commit: the next holder reads what is not true any more, and one sale is lost', async () => {
  let second: Promise<void> | undefined
  await inTransaction(async (client) => {
    const held = await sellers[0].lock('stock:1').acquire()
    await sellOne(client)
    await held.release()
    second = sellSecond()
    // It has read ten pieces by now, and wants to write nine.
    await waitFor(isAnyWaiting, { what: 'the second to write' })
  })
  await second
  expect(await piecesLeft()).toBe(9)
})

test('committed, then released: the next holder reads what the one before wrote', async () => {
  const held = await sellers[0].lock('stock:1').acquire()
  const second = sellSecond()
  await inTransaction(async (client) => {
    await sellOne(client)
    expect((await sellers[0].inspect('stock:1'))?.owner).toBe(held.owner)
  })
  await held.release()
  await second
  expect(await piecesLeft()).toBe(8)
})

test('pg_advisory_xact_lock ends with the transaction: there is nothing to release too early', async () => {
  const sell = (): Promise<void> =>
    inTransaction(async (client) => {
      await client.query("SELECT pg_advisory_xact_lock(hashtextextended('stock:1', 0))")
      await sellOne(client)
    })
  await Promise.all([sell(), sell(), sell()])
  expect(await piecesLeft()).toBe(7)
})

test('one atomic statement needs no lock at all', async () => {
  const sell = 'UPDATE stock SET pieces = pieces - 1 WHERE id = 1 AND pieces > 0'
  const sold = await Promise.all(Array.from({ length: 12 }, () => pool.query(sell)))
  expect(sold.filter(({ rowCount }) => rowCount === 1)).toHaveLength(10)
  expect(await piecesLeft()).toBe(0)
})
