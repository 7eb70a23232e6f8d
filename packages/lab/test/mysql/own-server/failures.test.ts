import { createHoldfast } from 'holdfast'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import {
  createConnection,
  createPool,
  type Pool,
  type PoolConnection,
  type RowDataPacket,
} from 'mysql2/promise'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sleep, startMysql, waitFor, type MysqlServer } from '../../../src/index.ts'
import { startCuttingProxy, type CuttingProxy } from '../../postgres/cutting-proxy.ts'
import { RawLocks } from '../../postgres/raw-locks.ts'
import { expectEndedClientIsTold } from '../../support/ended-client.ts'
import { clientKinds, connectStore, type ClientKind } from '../support.ts'

/**
 * Goal: each way in which the database fails is told as what it is: done, refused, or unknown. Method: a proxy that cuts the connection at
 * the commit, rights and settings that forbid, and another transaction that stands in the way.
 */

/** In the message that commits what was written. */
let commits: string | RegExp
const PREFIX = 'failures:v1'

let server: MysqlServer
let back: Pool
let proxy: CuttingProxy
let ends: (() => Promise<unknown>)[]

beforeAll(async () => {
  server = await startMysql({ accounts: true })
  // MySQL's is a message of its own.
  commits = server.flavour === 'mysql' ? /COMMIT$/ : 'RELEASE SAVEPOINT'
  back = createPool({ uri: server.url, connectionLimit: 5 })
  await mysqlStore(back).migrate()
})
afterAll(async () => {
  await back.end()
  await server.stop()
})
beforeEach(async () => {
  ends = []
  proxy = await startCuttingProxy(server)
  await back.query('DELETE FROM holdfast_lock')
})
afterEach(async () => {
  for (const end of ends) await end()
  await proxy.close()
})

interface OpenOptions {
  /** Past the proxy. */
  readonly direct?: boolean
  readonly kind?: ClientKind
  readonly user?: string
}

async function open({
  direct = false,
  kind = 'promise pool',
  user = 'root',
}: OpenOptions = {}): Promise<RawLocks> {
  const url = `mysql://${user}@127.0.0.1:${direct ? server.port : proxy.port}/test`
  const locks = new RawLocks(await connectStore(kind, url), PREFIX)
  ends.push(() => locks.close().catch(() => undefined))
  return locks
}

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ({ value }),
    (error: unknown) => error,
  )

/** Another transaction, which keeps rows locked until it ends. */
async function block(statement: string): Promise<PoolConnection> {
  const connection = await back.getConnection()
  await connection.beginTransaction()
  await connection.query(statement)
  ends.unshift(async () => {
    await connection.rollback()
    connection.release()
  })
  return connection
}

describe('a connection that is lost', () => {
  test('before the commit arrives: unknown, and nothing was done', async () => {
    const [locks, other] = [await open(), await open({ direct: true })]
    void proxy.cutAt(commits, 'request')
    expect(await failureOf(locks.acquire('a', locks.owner()))).toMatchObject({
      outcome: 'unknown',
      final: false,
      reason: 'connection',
    })
    expect(await other.acquire('a', other.owner())).toMatchObject({ kind: 'granted' })
  })

  test('A2: after the commit: unknown, and its owner finds that it has the lock, under the same fence', async () => {
    const locks = await open()
    const owner = locks.owner()
    void proxy.cutAt(commits, 'reply')
    expect(await failureOf(locks.acquire('a', owner))).toMatchObject({ outcome: 'unknown', final: false })
    const stands = await locks.inspect('a')
    expect(stands).toMatchObject({ owner })
    expect(await locks.acquire('a', owner)).toMatchObject({
      kind: 'granted',
      again: true,
      fence: stands?.fence,
    })
  })

  test('before anything was read: not done', async () => {
    const locks = await open()
    void proxy.cutAt('START TRANSACTION', 'request')
    expect(await failureOf(locks.acquire('a', locks.owner()))).toMatchObject({
      outcome: 'not-done',
      final: false,
      reason: 'connection',
    })
  })

  test('D17: a commit that is held up, and delivered when its time is over, grants nothing', async () => {
    const [locks, other] = [await open(), await open({ direct: true })]
    const cut = proxy.cutAt(commits, 'hold')
    const acquired = failureOf(locks.acquire('a', locks.owner(), { attempt: locks.attempt(600) }))
    await cut
    expect(await acquired).toMatchObject({ outcome: 'unknown' })
    // On MariaDB the transaction is still open, and only the clock is against it. MySQL ends it when it was silent for a second.
    await sleep(server.flavour === 'mysql' ? 2_500 : 300)
    proxy.deliver()
    await sleep(100)
    expect(await other.acquire('a', other.owner())).toMatchObject({ kind: 'granted', again: false })
  })

  test('a process that is silent in the middle of a transaction keeps its rows for about a second', async () => {
    const [locks, other] = [await open(), await open({ direct: true })]
    const cut = proxy.cutAt(commits, 'hold')
    void failureOf(locks.acquire('a', locks.owner(), { attempt: locks.attempt(600) }))
    await cut
    const granted = await waitFor(() => other.acquire('a', other.owner()).catch(() => null), {
      what: 'the row to be free',
      within: 10_000,
    })
    expect(granted).toMatchObject({ kind: 'granted', again: false })
  })

  test('of a store over one connection: told, and later calls say what to do', async () => {
    const locks = await open({ kind: 'connection' })
    expect(await locks.acquire('a', locks.owner())).toMatchObject({ kind: 'granted' })
    void proxy.cutAt(commits, 'silence')
    const silent = locks.acquire('b', locks.owner(), { attempt: locks.attempt(300) })
    expect(await failureOf(silent)).toMatchObject({ outcome: 'unknown' })
    for (const name of ['c', 'd', 'e'])
      expect(await failureOf(locks.acquire(name, locks.owner()))).toMatchObject({
        final: true,
        outcome: 'not-done',
        remedy: expect.stringContaining('Give the store a pool') as string,
      })
  })

  test.each(clientKinds)('A8: a client that its owner ends rejects who waits: %s', async (kind) => {
    const { store, close } = await connectStore(kind, server.url)
    await expectEndedClientIsTold({ store, holder: mysqlStore(back) }, close)
  })
})

describe('the server refuses', () => {
  test('a row that another transaction keeps: refused within the time, tried again, and later granted', async () => {
    const locks = await open({ direct: true })
    const blocker = await block(`INSERT INTO holdfast_lock (\`key\`) VALUES ('${PREFIX}:{a}:lock')`)
    const began = performance.now()
    const refused = await failureOf(locks.acquire('a', locks.owner(), { attempt: locks.attempt(900) }))
    expect(refused).toMatchObject({ outcome: 'not-done', final: false })
    expect(performance.now() - began).toBeLessThan(900)
    await blocker.rollback()
    expect(await locks.acquire('a', locks.owner())).toMatchObject({ kind: 'granted' })
  })

  test('a user without rights, a table that is missing, a key that is too long', async () => {
    await back.query('CREATE USER reader')
    await back.query('GRANT SELECT ON test.* TO reader')
    const reader = await open({ direct: true, user: 'reader' })
    expect(await failureOf(reader.acquire('a', reader.owner()))).toMatchObject({
      final: true,
      reason: '1142',
    })

    const pool = createPool(server.url)
    ends.push(() => pool.end())
    const hf = createHoldfast({ store: mysqlStore(pool, { tablePrefix: 'none_' }) })
    const failure = await hf
      .lock('a')
      .tryAcquire()
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'STORE_REFUSED', outcome: 'not-done', details: { reason: '1146' } })
    expect((failure as Error).message).toContain('CREATE TABLE IF NOT EXISTS `none_lock`')
    const long = { key: 'k'.repeat(2_001) }
    await expect(hf.lock('a', long).tryAcquire()).rejects.toMatchObject({ details: { reason: 'key' } })
    await hf.close()
  })

  test('a server that only reads: told, and tried again', async () => {
    await back.query('CREATE USER writer')
    await back.query('GRANT SELECT, INSERT, UPDATE, DELETE ON test.* TO writer')
    const locks = await open({ direct: true, user: 'writer' })
    await back.query('SET GLOBAL read_only = 1')
    try {
      expect(await failureOf(locks.acquire('a', locks.owner()))).toMatchObject({
        final: false,
        reason: '1290',
      })
    } finally {
      await back.query('SET GLOBAL read_only = 0')
    }
    expect(await locks.acquire('a', locks.owner())).toMatchObject({ kind: 'granted' })
  })

  test('more than the server takes in one message: told with its size and the remedy, and the connection stays', async () => {
    const [[most]] = (await back.query('SELECT @@max_allowed_packet AS bytes')) as unknown as [
      [{ bytes: number }],
    ]
    const hf = createHoldfast({ store: mysqlStore(back), budget: '10s' })
    const maxBytes = most.bytes
    const reports = hf.idempotency('reports', { maxBytes })
    const outcome = 'x'.repeat(maxBytes - 100)
    const failure = await reports
      .run({ key: 'big', scope: 'a' }, {}, () => outcome)
      .catch((error: unknown) => error)
    const { cause } = failure as { cause?: unknown }
    expect(cause ?? failure).toMatchObject({
      code: 'STORE_REFUSED',
      details: { reason: '1153' },
      message: expect.stringMatching(
        new RegExp(`\\d{8} bytes is larger than max_allowed_packet, ${maxBytes} bytes.*Raise`),
      ) as unknown,
    })
    await hf.close()
  })

  test('a version that is too old', async () => {
    const { flavourOf } = await import('../../../../holdfast/src/stores/mysql/flavour.ts')
    expect(() => flavourOf('10.5.9-MariaDB')).toThrow('10.5.9-MariaDB')
    expect(() => flavourOf('5.7.44-log')).toThrow('MySQL 5.7.44')
    expect(flavourOf('5.5.5-10.11.6-MariaDB')).toBe(flavourOf('11.4.2-MariaDB'))
    expect(flavourOf('8.0.36')).toBe(flavourOf('9.1.0'))
  })
})

describe('what is left behind', () => {
  test('settings of the session are as they were, after commits, rollbacks and refusals', async () => {
    const connection = await createConnection(server.url)
    ends.push(() => connection.end())
    const store = mysqlStore(connection)
    const isMysql = server.flavour === 'mysql'
    const setting = isMysql ? 'wait_timeout' : 'idle_transaction_timeout'
    await connection.query(`SET SESSION ${setting} = 77, SESSION innodb_lock_wait_timeout = 78`)
    const hf = createHoldfast({ store, budget: '10s' })
    const held = await hf.lock('a').acquire()
    expect(await hf.lock('a').tryAcquire()).toBeNull()
    await held.release()
    const run = (transaction: unknown) =>
      hf.idempotency('i').run({ key: 'k', scope: 'a' }, { transaction }, () => 1)
    await connection.beginTransaction()
    expect(await run(connection)).toEqual({ value: 1, replayed: false })
    await connection.rollback()
    const rest = isMysql ? '0 AS longest, 0' : '@@max_statement_time + 0 AS longest, @@in_transaction'
    const [rows] = await connection.query<RowDataPacket[]>(
      `SELECT @@${setting} AS idle, @@innodb_lock_wait_timeout AS row_wait, ${rest} AS inside`,
    )
    expect(rows).toEqual([{ idle: 77, row_wait: 78, longest: 0, inside: 0 }])
    await hf.close()
  })

  test('the printed schema makes what the store needs, and migrate may be called by many at once, and again', async () => {
    const statements = mysqlSchema({ tablePrefix: 'printed_' }).split(';\n').filter(Boolean)
    for (const statement of statements) await back.query(statement)
    const store = mysqlStore(back, { tablePrefix: 'printed_' })
    const hf = createHoldfast({ store })
    expect(await hf.lock('a').tryAcquire()).not.toBeNull()
    await hf.close()
    const others = Array.from({ length: 6 }, () => mysqlStore(back, { tablePrefix: 'many_' }).migrate())
    await Promise.all(others)
    await back.query("UPDATE many_meta SET `value` = '9'")
    await expect(mysqlStore(back, { tablePrefix: 'many_' }).migrate()).rejects.toThrow('schema 9')
  })

  test('rows that are over go, by those who write; the last fence stays', async () => {
    const hf = createHoldfast({ store: mysqlStore(back), prefix: 'sweep:v1' })
    for (const [table, columns] of [
      ['once', "REPEAT('k', 3), 'x', 5"],
      ['limit', "'over', 'x', 5"],
      ['limit_reply', "'over', 'x', 5"],
    ])
      await back.query(`INSERT INTO holdfast_${table} VALUES (${columns})`)
    await back.query(
      "INSERT INTO holdfast_lock VALUES ('a-old', NULL, 1, NULL, 5, 5), ('a-kept', NULL, 1, NULL, 5, ?)",
      [Date.now() * 1_000],
    )
    await back.query("INSERT INTO holdfast_queue VALUES ('a-old', 'dead', 1, 5, 0)")
    const limiter = hf.limiter('l', (await import('holdfast')).fixedWindow({ limit: 1_000, per: '1m' }), {
      budget: '2s',
    })
    let left: Record<string, unknown> = {}
    const isTidy = async (): Promise<boolean> => {
      const over = (table: string): string => `(SELECT COUNT(*) FROM holdfast_${table} WHERE expires_at = 5)`
      const dead = "(SELECT COUNT(*) FROM holdfast_queue WHERE process = 'dead')"
      const [rows] = await back.query<RowDataPacket[]>(
        `SELECT ${over('once')} AS once, ${over('limit')} AS \`limit\`, ${over('limit_reply')} AS reply, ${over('lock')} AS \`lock\`, ${dead} AS dead`,
      )
      left = rows[0] ?? {}
      // One lock is kept, for its last fence.
      return JSON.stringify(Object.values(left)) === '[0,0,0,1,0]'
    }
    const names = Array.from({ length: 70 }, (_, i) => `n${i}`)
    const round = async (): Promise<boolean> => {
      const tries = names.map(async (name) => (await hf.lock(name).tryAcquire())?.release())
      await Promise.allSettled(tries)
      await Promise.allSettled(names.map((key) => hf.idempotency('i').run({ key, scope: 'a' }, {}, () => 1)))
      await Promise.allSettled(names.map((name) => limiter.take(name)))
      return isTidy()
    }
    await waitFor(round, { what: () => `only one row to be left: ${JSON.stringify(left)}`, within: 20_000 })
    const [kept] = await back.query<RowDataPacket[]>("SELECT 1 FROM holdfast_lock WHERE `key` = 'a-kept'")
    expect(kept).toHaveLength(1)
    await hf.close()
  })
})
