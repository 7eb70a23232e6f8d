import { createHoldfast, type Holdfast } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { postgresStore } from 'holdfast/postgres'
import { Pool, type PoolClient } from 'pg'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startPostgres, type PostgresServer } from '../../src/index.ts'

/**
 * Goal: transactions that meet at one key are told, or wait for as long as they were told to, and can go on in either case. Method:
 * two connections, and what each of them sees.
 */

let server: PostgresServer
let pool: Pool
let hf: Holdfast
let clients: PoolClient[]
let keys = 0

beforeAll(async () => {
  server = await startPostgres()
  pool = new Pool({ connectionString: server.url, max: 10 })
  await postgresStore(pool).migrate()
  hf = createHoldfast({ store: postgresStore(pool) })
})
afterAll(async () => {
  await hf.close()
  await pool.end()
  await server.stop()
})
beforeEach(() => {
  clients = []
  keys += 1
})
afterEach(async () => {
  for (const client of clients) await client.query('ROLLBACK').finally(() => client.release())
})

async function begin(how = 'BEGIN'): Promise<PoolClient> {
  const client = await pool.connect()
  clients.push(client)
  await client.query(how)
  return client
}

const run = (transaction: unknown, value: string, wait = 0, signal?: AbortSignal) => {
  const options = signal === undefined ? { transaction, wait } : { transaction, wait, signal }
  return hf.idempotency('meet').run({ key: String(keys), scope: 'a' }, options, () => value)
}

describe('two transactions at one key', () => {
  test('F4: the second is told at once, its own transaction goes on, and nobody gets a value before it is committed', async () => {
    const [first, second] = [await begin(), await begin()]
    await run(first, 'first')
    await expect(run(second, 'second')).rejects.toMatchObject({
      code: 'IDEMPOTENCY_IN_PROGRESS',
      retryable: true,
    })
    expect((await second.query('SELECT 1 AS alive')).rows).toEqual([{ alive: 1 }])
    await first.query('COMMIT')
    expect(await run(second, 'second')).toEqual({ value: 'first', replayed: true })
  })

  test('the second waits, and replays what the first commits', async () => {
    const [first, second] = [await begin(), await begin()]
    await run(first, 'first')
    const waiting = run(second, 'second', 5_000)
    await first.query('COMMIT')
    expect(await waiting).toEqual({ value: 'first', replayed: true })
  })

  test('the second waits, and runs itself when the first rolls back', async () => {
    const [first, second] = [await begin(), await begin()]
    await run(first, 'first')
    const waiting = run(second, 'second', 5_000)
    await first.query('ROLLBACK')
    expect(await waiting).toEqual({ value: 'second', replayed: false })
  })

  test('a wait ends by its time, and by its signal', async () => {
    const [first, second] = [await begin(), await begin()]
    await run(first, 'first')
    await expect(run(second, 'second', 100)).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
    const controller = new AbortController()
    const waiting = run(second, 'second', 60_000, controller.signal)
    const gone = new Error('the client has gone')
    controller.abort(gone)
    await expect(waiting).rejects.toBe(gone)
  })

  test('replays of a key that is done do not stand in each other’s way', async () => {
    const [first, second, third] = [await begin(), await begin(), await begin()]
    await run(first, 'first')
    await first.query('COMMIT')
    expect(await run(second, 'second')).toMatchObject({ replayed: true })
    expect(await run(third, 'third')).toMatchObject({ replayed: true })
  })

  test('a snapshot from before the first committed cannot hide its outcome: the transaction has to be run again', async () => {
    const first = await begin()
    const old = await begin('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await old.query('SELECT count(*) FROM holdfast_once')
    await run(first, 'first')
    await first.query('COMMIT')
    const failed = run(old, 'second')
    await expect(failed).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      retryable: true,
      outcome: 'not-done',
    })
    await expect(failed).rejects.toThrow('run it again')
    await old.query('ROLLBACK')
    await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    expect(await run(old, 'second')).toEqual({ value: 'first', replayed: true })
  })

  test('work that broke its transaction and returns all the same is not believed', async () => {
    const client = await begin()
    const broken = hf
      .idempotency('meet')
      .run({ key: String(keys), scope: 'a' }, { transaction: client }, async () => {
        await client.query('SELECT no_such_column').catch(() => undefined)
        return 'fine'
      })
    await expect(broken).rejects.toMatchObject({ code: 'STORE_REFUSED' })
  })

  test('a claim that the work rolled back to a savepoint is not believed', async () => {
    const client = await begin()
    await client.query('SAVEPOINT before')
    const lost = hf
      .idempotency('meet')
      .run({ key: String(keys), scope: 'a' }, { transaction: client }, async () => {
        await client.query('ROLLBACK TO SAVEPOINT before')
        return 'fine'
      })
    await expect(lost).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', reason: 'taken' })
  })
})

describe('a call without a transaction at a key of one that is not committed', () => {
  const plain = (value: string, wait = 0) =>
    hf.idempotency('meet').run({ key: String(keys), scope: 'a' }, { wait }, () => value)

  test('is told that it is in progress, or waits and replays what is committed', async () => {
    const first = await begin()
    await run(first, 'first')
    await expect(plain('second')).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS', retryable: true })
    const waiting = plain('second', 10_000)
    await first.query('COMMIT')
    expect(await waiting).toEqual({ value: 'first', replayed: true })
  })

  test('runs its own work when that is rolled back', async () => {
    const first = await begin()
    await run(first, 'first')
    const waiting = plain('second', 10_000)
    await expect(plain('third')).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
    await first.query('ROLLBACK')
    expect(await waiting).toEqual({ value: 'second', replayed: false })
  })
})

describe('what is no transaction', () => {
  const refused = (transaction: unknown) =>
    expect(run(transaction, 'ran')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'transaction' })

  test('a pool, a connection without BEGIN, sql of postgres.js', async () => {
    await refused(pool)
    await refused(await begin('SELECT 1'))
    const sql = postgres(server.url, { max: 1 })
    await refused(sql)
    await sql.end()
    expect(await hf.idempotency('meet').inspect({ key: String(keys), scope: 'a' })).toBeNull()
  })

  test('a store that is no database says so', async () => {
    const memory = createHoldfast({ store: memoryStore() })
    const ran = memory.idempotency('meet').run({ key: 'k', scope: 'a' }, { transaction: {} }, () => 'ran')
    await expect(ran).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', option: 'transaction' })
    await memory.close()
  })
})
