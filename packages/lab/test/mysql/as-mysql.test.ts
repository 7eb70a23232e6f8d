import { createHoldfast, slidingWindow, type Holdfast } from 'holdfast'
import { mysqlStore } from 'holdfast/mysql'
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startMariadb, type MariadbServer } from '../../src/index.ts'
import { sayingMysql } from './support.ts'

/**
 * Goal: the way of MySQL, one statement after another, keeps the same promises. Method: a MariaDB that says that it is MySQL; it understands all that
 * MySQL is sent. What only MySQL itself can show, `npm run test:servers` shows.
 */

let server: MariadbServer
let pool: Pool
let hf: Holdfast

beforeAll(async () => {
  server = await startMariadb()
  pool = createPool({ uri: server.url, connectionLimit: 10 })
  const store = mysqlStore(sayingMysql(pool))
  await store.migrate()
  hf = createHoldfast({ store })
})
afterAll(async () => {
  await hf.close()
  await pool.end()
  await server.stop()
})

test('one holder, waiters in their turn, fences that rise', async () => {
  const lock = hf.lock('a', { wait: '20s' })
  const inside: string[] = []
  let last = 0n
  const works = Array.from({ length: 12 }, (_, i) =>
    lock.run(async (held) => {
      inside.push(`in ${i}`)
      expect(held.fence).toBeGreaterThan(last)
      last = held.fence
      await new Promise((resolve) => setTimeout(resolve, 2))
      inside.push(`out ${i}`)
    }),
  )
  await Promise.all(works)
  for (let i = 0; i < inside.length; i += 2) expect(inside[i + 1]).toBe(inside[i]?.replace('in', 'out'))
  expect(inside).toHaveLength(24)
})

test('two processes: busy, released, forced', async () => {
  const other = createHoldfast({ store: mysqlStore(sayingMysql(pool)) })
  const held = await hf.lock('b').acquire()
  expect(await other.lock('b').tryAcquire()).toBeNull()
  expect(await other.forceRelease('b')).toMatchObject({ released: true })
  const next = await other.lock('b').acquire()
  expect(next.fence).toBeGreaterThan(held.fence)
  expect(await held.release()).toMatchObject({ released: false })
  await other.close()
})

test('E25: a hundred at once at a limit of five: exactly five', async () => {
  const limiter = hf.limiter('l', slidingWindow({ limit: 5, per: '1m' }), { budget: '20s' })
  const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.take('u')))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
})

test('F9: one execution, also in transactions of the caller', async () => {
  const once = hf.idempotency('i')
  let runs = 0
  const work = async (): Promise<number> => ++runs
  await Promise.all(
    Array.from({ length: 20 }, () => once.run({ key: 'k', scope: 'a' }, { wait: '20s' }, work)),
  )
  expect(runs).toBe(1)

  const [first, second] = [await pool.getConnection(), await pool.getConnection()]
  await first.beginTransaction()
  await second.beginTransaction()
  const within = (transaction: unknown): Promise<unknown> =>
    once.run({ key: 'tx', scope: 'a' }, { transaction }, work)
  expect(await within(first)).toEqual({ value: 2, replayed: false })
  await expect(within(second)).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
  await first.commit()
  expect(await within(second)).toEqual({ value: 2, replayed: true })
  await second.rollback()
  for (const connection of [first, second]) connection.release()
})

test('settings of the sessions are as they were', async () => {
  const connections = await Promise.all(Array.from({ length: 5 }, () => pool.getConnection()))
  for (const connection of connections) {
    const [rows] = await connection.query<RowDataPacket[]>(
      'SELECT @@SESSION.wait_timeout = @@GLOBAL.wait_timeout AND @@SESSION.innodb_lock_wait_timeout = @@GLOBAL.innodb_lock_wait_timeout AS same, @@in_transaction AS inside',
    )
    expect(rows).toEqual([{ same: 1, inside: 0 }])
    connection.release()
  }
})
