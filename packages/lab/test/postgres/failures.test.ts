import { createHoldfast } from 'holdfast'
import { postgresStore } from 'holdfast/postgres'
import { Client, Pool } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sleep, startPostgres, waitFor, type PostgresServer } from '../../src/index.ts'
import { expectEndedClientIsTold } from '../support/ended-client.ts'
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.ts'
import { RawLocks } from './raw-locks.ts'
import { clientKinds, connectStore, type ClientKind } from './support.ts'

/**
 * Goal: each way in which the database fails is told as what it is: done, refused, or unknown. Method: a proxy that cuts the connection at the commit,
 * rights and settings that forbid, and another transaction that stands in the way.
 */

/** In the message that commits what was written, over each client. */
const COMMITS: Record<ClientKind, string> = { pg: 'RELEASE SAVEPOINT', 'postgres.js': '\u0000commit\u0000' }
const PREFIX = 'failures:v1'

let server: PostgresServer
let back: Pool
let proxy: CuttingProxy
let ends: (() => Promise<unknown>)[]

beforeAll(async () => {
  server = await startPostgres({ settings: { max_connections: 60 } })
  back = new Pool({ connectionString: server.url, max: 5 })
  back.on('error', () => undefined)
  await postgresStore(back).migrate()
})
afterAll(async () => {
  await back.end()
  await server.stop()
})
beforeEach(async () => {
  ends = []
  proxy = await startCuttingProxy(server)
  await back.query('TRUNCATE holdfast_lock, holdfast_queue')
})
afterEach(async () => {
  for (const end of ends) await end()
  await proxy.close()
})

function open(
  kind: ClientKind,
  { url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`, max = 2 } = {},
) {
  const locks = new RawLocks(connectStore(kind, url, { max }), PREFIX)
  ends.push(() => locks.close())
  return locks
}

/** Another transaction, which keeps rows locked until it ends. */
async function block(statement: string): Promise<() => Promise<void>> {
  const client = await back.connect()
  let ended = false
  const end = async (): Promise<void> => {
    if (ended) return
    ended = true
    await client.query('ROLLBACK')
    client.release()
  }
  ends.unshift(end)
  await client.query(`BEGIN; ${statement}`)
  return end
}

/** How many connections listen. */
async function listeners(): Promise<number> {
  const { rows } = await back.query<{ many: number }>(
    "SELECT count(*)::int AS many FROM pg_stat_activity WHERE query ILIKE 'LISTEN%'",
  )
  return rows[0]?.many ?? 0
}

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ({ value }),
    (error: unknown) => error,
  )

describe.each(clientKinds)('a connection that is lost, over %s', (kind) => {
  test('before the commit arrives: unknown, and nothing was done', async () => {
    const [locks, other] = [open(kind), open(kind, { url: server.url })]
    void proxy.cutAt(COMMITS[kind], 'request')
    expect(await failureOf(locks.acquire('a', locks.owner()))).toMatchObject({
      outcome: 'unknown',
      final: false,
      reason: 'connection',
    })
    expect(await other.acquire('a', other.owner())).toMatchObject({ kind: 'granted' })
  })

  test('A2: after the commit: unknown, and its owner finds that it has the lock, under the same fence', async () => {
    const locks = open(kind)
    const owner = locks.owner()
    void proxy.cutAt(COMMITS[kind], 'reply')
    expect(await failureOf(locks.acquire('a', owner))).toMatchObject({
      outcome: 'unknown',
      final: false,
      reason: 'connection',
    })
    const stands = await locks.inspect('a')
    expect(stands).toMatchObject({ owner })
    expect(await locks.acquire('a', owner)).toMatchObject({
      kind: 'granted',
      again: true,
      fence: stands?.fence,
    })
  })

  test('before anything was read: not done', async () => {
    const locks = open(kind)
    void proxy.cutAt('lock_timeout', 'request')
    expect(await failureOf(locks.acquire('a', locks.owner()))).toMatchObject({
      outcome: 'not-done',
      final: false,
      reason: 'connection',
    })
  })

  test('between reading and writing: not done, and nothing is written outside of a transaction', async () => {
    const locks = open(kind, { url: server.url })
    const owner = locks.owner()
    // While it waits for the row its connection is ended, so that it is gone when there is something to write.
    const unblock = await block(`INSERT INTO holdfast_lock (key) VALUES ('${PREFIX}:{a}:lock')`)
    const acquired = failureOf(locks.acquire('a', owner))
    const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    await waitFor(async () => (await back.query(waiting)).rows.length > 0, { what: 'the acquire to wait' })
    await back.query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS waits`)
    await unblock()
    expect(await acquired).toMatchObject({ outcome: 'not-done', final: false })
    expect(await locks.acquire('a', owner)).toMatchObject({ kind: 'granted', again: false })
  })

  test('D17: a commit that is held up, and delivered when its connection is gone, grants nothing', async () => {
    const [locks, other] = [open(kind), open(kind, { url: server.url })]
    const cut = proxy.cutAt(COMMITS[kind], 'hold')
    const acquired = failureOf(locks.acquire('a', locks.owner(), { attempt: locks.attempt(600) }))
    await cut
    expect(await acquired).toMatchObject({ outcome: 'unknown' })
    // The database ends the silent transaction; until then the row is locked, and nobody else is granted it.
    expect(await other.acquire('a', other.owner())).toMatchObject({ kind: 'granted', again: false })
    const [stands] = [await other.inspect('a')]
    proxy.deliver()
    await sleep(100)
    expect(await other.inspect('a')).toMatchObject({ owner: stands?.owner, fence: stands?.fence })
  })

  test('a commit that nobody answers: told within a third of the budget, and the next call goes over another connection', async () => {
    const locks = open(kind)
    void proxy.cutAt(COMMITS[kind], 'silence')
    const began = performance.now()
    const acquired = failureOf(locks.acquire('a', locks.owner(), { attempt: locks.attempt(1_200) }))
    expect(await acquired).toMatchObject({ final: false })
    expect(performance.now() - began).toBeLessThan(900)
    expect(await locks.acquire('b', locks.owner())).toMatchObject({ kind: 'granted' })
  })
})

describe('another transaction in the way', () => {
  test('a row that is kept locked: refused in time, not done; free again, the same call goes well', async () => {
    const locks = open('pg')
    await locks.release('a', (await holding(locks, 'a')).owner)
    const unblock = await block("SELECT FROM holdfast_lock WHERE key LIKE '%{a}%' FOR UPDATE")
    const attempt = locks.attempt(1_500)
    expect(await failureOf(locks.acquire('a', locks.owner(), { attempt }))).toMatchObject({
      kind: 'refused',
      outcome: 'not-done',
      final: false,
      reason: '55P03',
    })
    await unblock()
    expect(await locks.acquire('a', locks.owner())).toMatchObject({ kind: 'granted' })
  })

  test('the lease begins when the row is got, not when the transaction begins', async () => {
    const locks = open('pg')
    await locks.release('a', (await holding(locks, 'a')).owner)
    const unblock = await block("SELECT FROM holdfast_lock WHERE key LIKE '%{a}%' FOR UPDATE")
    const acquired = locks.acquire('a', locks.owner(), { ttl: 2_000 })
    await sleep(700)
    await unblock()
    await acquired
    expect((await locks.inspect('a'))?.remaining).toBeGreaterThan(1_700)
  })

  test('one key that is kept locked does not take the others of its batch along', async () => {
    const locks = open('pg', { max: 4 })
    await locks.release('a', (await holding(locks, 'a')).owner)
    const unblock = await block("SELECT FROM holdfast_lock WHERE key LIKE '%{a}%' FOR UPDATE")
    const names = ['first', 'b', 'a', 'c']
    const calls = names.map((name) =>
      failureOf(locks.acquire(name, locks.owner(), { attempt: locks.attempt(1_200) })),
    )
    const results = await Promise.all(calls)
    await unblock()
    expect(results).toMatchObject([
      { value: { kind: 'granted' } },
      { value: { kind: 'granted' } },
      { reason: '55P03' },
      { value: { kind: 'granted' } },
    ])
  })

  test('a deadlock is tried again within the budget', async () => {
    const hf = createHoldfast({ store: postgresStore(back), prefix: PREFIX, budget: '4s' })
    await (await hf.lock('a').acquire()).release()
    await back.query(`CREATE FUNCTION deadlock_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('deadlocks') = 1 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF; RETURN NEW; END $$`)
    await back.query('CREATE SEQUENCE deadlocks')
    await back.query(
      'CREATE TRIGGER once BEFORE UPDATE ON holdfast_lock FOR EACH ROW EXECUTE FUNCTION deadlock_once()',
    )
    const held = await hf.lock('a').acquire()
    await back.query('DROP TRIGGER once ON holdfast_lock')
    expect(held.lost).toBeNull()
    const { rows } = await back.query<{ last_value: string }>('SELECT last_value FROM deadlocks')
    expect(Number(rows[0]?.last_value)).toBeGreaterThan(1)
    await hf.close()
  })
})

async function holding(locks: RawLocks, name: string): Promise<{ owner: string }> {
  const owner = locks.owner()
  expect(await locks.acquire(name, owner)).toMatchObject({ kind: 'granted' })
  return { owner }
}

describe('a database that refuses', () => {
  const urlOf = (user: string, database = 'postgres') =>
    `postgres://${user}@127.0.0.1:${server.port}/${database}`

  test('no connection left in the pool: not done, within the budget', async () => {
    const pool = new Pool({ connectionString: server.url, max: 1 })
    const taken = await pool.connect()
    const locks = new RawLocks({ store: postgresStore(pool), close: () => pool.end() }, PREFIX)
    const acquired = await failureOf(locks.acquire('a', locks.owner(), { attempt: locks.attempt(300) }))
    expect(acquired).toMatchObject({ kind: 'unreachable', outcome: 'not-done', final: false })
    taken.release()
    expect(await locks.acquire('b', locks.owner())).toMatchObject({ kind: 'granted' })
    // What was given up did not come after all.
    expect(await locks.inspect('a')).toBeNull()
    await locks.close()
  })

  test('a pool that was ended', async () => {
    const pool = new Pool({ connectionString: server.url })
    const locks = new RawLocks({ store: postgresStore(pool), close: () => Promise.resolve() }, PREFIX)
    await pool.end()
    expect(await failureOf(locks.acquire('a', locks.owner()))).toMatchObject({
      outcome: 'not-done',
      final: true,
      reason: 'client',
    })
    await locks.close()
    expect(() => postgresStore(pool)).toThrow('was ended')
  })

  test.each(clientKinds)('A8: a client that its owner ends rejects who waits: %s', async (kind) => {
    const { store, close } = connectStore(kind, server.url)
    await expectEndedClientIsTold({ store, holder: postgresStore(back) }, close)
  })

  test('A8: a Client of pg that is for the store alone', async () => {
    const client = new Client({ connectionString: server.url })
    await client.connect()
    await expectEndedClientIsTold({ store: postgresStore(client), holder: postgresStore(back) }, () =>
      client.end(),
    )
  })

  test('no right: refused for good, and the rights that are needed', async () => {
    await back.query('CREATE USER poor')
    const locks = open('pg', { url: urlOf('poor') })
    const failure = await failureOf(locks.acquire('a', locks.owner()))
    expect(failure).toMatchObject({ kind: 'refused', outcome: 'not-done', final: true, reason: '42501' })
    expect((failure as { remedy: string }).remedy).toContain(
      'GRANT SELECT, INSERT, UPDATE, DELETE ON "holdfast_meta", "holdfast_lock"',
    )
  })

  test('a user who may not make tables may migrate where they are there', async () => {
    await back.query('CREATE USER app; GRANT ALL ON ALL TABLES IN SCHEMA public TO app')
    const pool = new Pool({ connectionString: urlOf('app'), max: 1 })
    await postgresStore(pool).migrate()
    await expect(postgresStore(pool, { tablePrefix: 'other_' }).migrate()).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      details: { reason: '42501' },
    })
    await pool.end()
  })

  test('a user who may not write: refused, asked again, and not taken for a standby', async () => {
    await back.query(
      'CREATE USER reader; ALTER USER reader SET default_transaction_read_only = on; GRANT ALL ON ALL TABLES IN SCHEMA public TO reader',
    )
    const locks = open('pg', { url: urlOf('reader') })
    expect(await failureOf(locks.acquire('a', locks.owner()))).toMatchObject({
      outcome: 'not-done',
      final: false,
      reason: '25006',
      remedy: expect.stringMatching(/no standby.*default_transaction_read_only/) as unknown,
    })
  })

  test('the isolation level of the connection does not matter', async () => {
    await back.query(
      "CREATE USER strict; ALTER USER strict SET default_transaction_isolation = 'serializable'; GRANT ALL ON ALL TABLES IN SCHEMA public TO strict",
    )
    const [one, two] = [open('pg', { url: urlOf('strict') }), open('pg', { url: urlOf('strict') })]
    for (let i = 0; i < 20; i += 1) {
      const [first, second] = [one.owner(), two.owner()]
      const kinds = await Promise.all([one.acquire('a', first), two.acquire('a', second)])
      expect(kinds.map(({ kind }) => kind).sort()).toEqual(['busy', 'granted'])
      await Promise.all([one.release('a', first), two.release('a', second)])
    }
  })

  test.each(clientKinds)(
    'a table that is missing: the error prints the statement that makes it (%s)',
    async (kind) => {
      const connected = connectStore(kind, server.url, { tablePrefix: `none_${kind === 'pg' ? 'a' : 'b'}_` })
      const hf = createHoldfast({ store: connected.store, budget: '5s' })
      const failure = await hf
        .lock('a')
        .tryAcquire()
        .catch((error: unknown) => error)
      expect(failure).toMatchObject({
        code: 'STORE_REFUSED',
        retryable: false,
        outcome: 'not-done',
        details: { reason: '42P01' },
      })
      const statement = /CREATE TABLE IF NOT EXISTS "none_._lock" \([^;]+;/.exec(
        (failure as Error).message,
      )?.[0]
      expect(statement).toContain('last_fence')
      await connected.store.migrate()
      expect(await hf.lock('a').tryAcquire()).not.toBeNull()
      await hf.close()
      await connected.close()
    },
  )

  test.each(clientKinds)('closing does not wait for a server that stands still (%s)', async (kind) => {
    const connected = connectStore(kind, server.url, { fetchTypes: false })
    const hf = createHoldfast({ store: connected.store, prefix: PREFIX, budget: '300ms' })
    const held = await hf.lock('still', { ttl: '2s' }).acquire()
    // Until there is a connection that listens.
    await waitFor(async () => (await listeners()) > 0, { what: 'a connection that listens' })
    await server.pause()
    const began = performance.now()
    await hf.close()
    const took = performance.now() - began
    server.resume()
    // Two budgets, and what a busy machine adds.
    expect(took).toBeLessThan(2 * 300 + 700)
    expect(held.signal.aborted).toBe(true)
    await connected.close()
    await waitFor(async () => (await listeners()) === 0, { what: 'no connection that listens' })
  })

  test('C4: the server stops and comes back: calls fail within their budget, the process lives, and goes on', async () => {
    const pool = new Pool({ connectionString: server.url, max: 3 })
    const hf = createHoldfast({ store: postgresStore(pool), prefix: PREFIX, budget: '600ms' })
    const held = await hf.lock('kept', { ttl: '30s' }).acquire()
    await server.restart()
    const next = await waitFor(
      () =>
        hf
          .lock('a')
          .tryAcquire()
          .catch(() => undefined),
      { what: 'a lock after the restart' },
    )
    expect(next?.lost).toBeNull()
    expect(await held.release()).toMatchObject({ released: true })
    await hf.close()
    await pool.end()
  })
})
