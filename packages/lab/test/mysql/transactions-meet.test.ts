import { createHoldfast, type Holdfast } from 'holdfast'
import { mysqlStore } from 'holdfast/mysql'
import { createPool, type Pool, type PoolConnection } from 'mysql2/promise'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startMysql, type MysqlServer } from '../../src/index.ts'

/**
 * Goal: transactions that meet at one key are told, or wait for as long as they were told to, and can go on in either case. Method:
 * two connections, and what each of them sees.
 */

let server: MysqlServer
let pool: Pool
let hf: Holdfast
let connections: PoolConnection[]
let keys = 0

beforeAll(async () => {
  server = await startMysql()
  pool = createPool({ uri: server.url, connectionLimit: 10 })
  await mysqlStore(pool).migrate()
  hf = createHoldfast({ store: mysqlStore(pool), budget: '10s' })
})
afterAll(async () => {
  await hf.close()
  await pool.end()
  await server.stop()
})
beforeEach(() => {
  connections = []
  keys += 1
})
afterEach(async () => {
  for (const connection of connections) await connection.rollback().finally(() => connection.release())
})

async function begin(): Promise<PoolConnection> {
  const connection = await pool.getConnection()
  connections.push(connection)
  await connection.beginTransaction()
  return connection
}

const run = (transaction: unknown, value: string, wait = 0) =>
  hf.idempotency('meet').run({ key: String(keys), scope: 'a' }, { transaction, wait }, () => value)

test('F4: the second is told at once, its own transaction goes on, and nobody gets a value before it is committed', async () => {
  const [first, second] = [await begin(), await begin()]
  await run(first, 'first')
  await expect(run(second, 'second')).rejects.toMatchObject({
    code: 'IDEMPOTENCY_IN_PROGRESS',
    retryable: true,
  })
  await second.query('SELECT 1')
  await first.commit()
  expect(await run(second, 'second')).toEqual({ value: 'first', replayed: true })
})

test('the second waits, and replays what the first commits; or runs itself when that rolls back', async () => {
  const [first, second] = [await begin(), await begin()]
  await run(first, 'first')
  const waiting = run(second, 'second', 5_000)
  await first.rollback()
  expect(await waiting).toEqual({ value: 'second', replayed: false })
  await first.beginTransaction()
  const replaying = run(first, 'third', 5_000)
  await second.commit()
  expect(await replaying).toEqual({ value: 'second', replayed: true })
})

test("transactions with keys of their own do not stand in each other's way, however near the keys are", async () => {
  const near = async (i: number, work: () => unknown): Promise<unknown> => {
    const transaction = await begin()
    const once = hf.idempotency('near')
    const ran = await once.run({ key: `${keys}-${i}`, scope: 'a' }, { transaction }, work)
    await transaction.commit()
    return ran
  }
  const others = Array.from({ length: 8 }, (_, i) => i + 1)
  // The first is at its work until all others are done with theirs.
  const ran = near(0, () => Promise.all(others.map((i) => near(i, () => i))))
  await expect(ran).resolves.toMatchObject({ replayed: false, value: { length: others.length } })
})

test('a rollback lets go of all who wait: one of them runs, and the transactions of the others go on', async () => {
  const first = await begin()
  await run(first, 'first')
  const others = await Promise.all(Array.from({ length: 6 }, begin))
  const told = others.map(async (other, i) => {
    const came = await run(other, `other ${i}`).catch((error: unknown) => error)
    await other.query('SELECT 1 FROM holdfast_once')
    await other.commit()
    return came
  })
  await Promise.race(told)
  await first.rollback()
  const all = await Promise.all(told)
  for (const came of all)
    if (came instanceof Error) expect(came).toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
  expect(all.filter((came) => !(came instanceof Error)).length).toBeLessThanOrEqual(1)
})

test('a snapshot from before the first committed does not hide its outcome', async () => {
  const [first, old] = [await begin(), await begin()]
  await old.query('SELECT COUNT(*) FROM holdfast_once')
  await run(first, 'first')
  await first.commit()
  expect(await run(old, 'second')).toEqual({ value: 'first', replayed: true })
})

test('a transaction that the server ended by a deadlock is told to be run again', async () => {
  const [first, second] = [await begin(), await begin()]
  await pool.query('CREATE TABLE IF NOT EXISTS rivals (id INT PRIMARY KEY) ENGINE=InnoDB')
  await pool.query('INSERT IGNORE INTO rivals VALUES (1), (2)')
  await first.query('SELECT * FROM rivals WHERE id = 1 FOR UPDATE')
  await second.query('SELECT * FROM rivals WHERE id = 2 FOR UPDATE')
  const waits = first.query('SELECT * FROM rivals WHERE id = 2 FOR UPDATE').catch((error: unknown) => error)
  const meets = second.query('SELECT * FROM rivals WHERE id = 1 FOR UPDATE').catch((error: unknown) => error)
  const [one, other] = await Promise.all([waits, meets])
  const ended = one instanceof Error ? first : second
  expect([one, other].filter((each) => each instanceof Error)).toHaveLength(1)
  // There is no transaction any more: a record would be committed by itself.
  await expect(run(ended, 'lost')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'transaction' })
})

test('a pool, and a connection without a transaction, are refused', async () => {
  const refused = (transaction: unknown) =>
    expect(run(transaction, 'ran')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'transaction' })
  await refused(pool)
  const bare = await begin()
  await bare.rollback()
  await refused(bare)
  expect(await hf.idempotency('meet').inspect({ key: String(keys), scope: 'a' })).toBeNull()
})
