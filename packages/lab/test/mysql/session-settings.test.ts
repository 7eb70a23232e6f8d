import { randomUUID } from 'node:crypto'
import { createHoldfast, slidingWindow } from 'holdfast'
import { mysqlStore } from 'holdfast/mysql'
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startMariadb, type MariadbServer } from '../../src/index.ts'
import { sayingMysql } from './support.ts'

/**
 * Goal: what sessions are set to changes nothing of what the store does, and the store leaves nothing open in them.
 * Method: pools whose connections have a setting from their first moment on; the way of MariaDB and that of MySQL.
 */

let server: MariadbServer
/** Looks at the server from beside. */
let beside: Pool

beforeAll(async () => {
  server = await startMariadb()
  beside = createPool({ uri: server.url, connectionLimit: 1 })
})
afterAll(async () => {
  await beside.end()
  await server.stop()
})

const SETTINGS = [
  'autocommit = 0',
  "completion_type = 'CHAIN'",
  "completion_type = 'RELEASE'",
  'sql_select_limit = 1',
  'sql_safe_updates = 1',
  "sql_mode = 'ANSI'",
  "sql_mode = 'ORACLE'",
  "sql_mode = 'TRADITIONAL,NO_BACKSLASH_ESCAPES'",
  "sql_mode = 'EMPTY_STRING_IS_NULL'",
  "time_zone = '+13:00'",
]
const FLAVOURS = { MariaDB: (pool: Pool) => pool, 'as MySQL': sayingMysql }

describe.each(SETTINGS)('%s', (setting) => {
  test.each(Object.entries(FLAVOURS))('%s', async (_name, flavour) => {
    const pool = createPool({ uri: server.url, connectionLimit: 3 })
    pool.pool.on('connection', (connection) => void connection.query(`SET ${setting}`))
    const tablePrefix = `t_${randomUUID().slice(0, 8)}_`
    const store = mysqlStore(flavour(pool), { tablePrefix })
    await store.migrate()
    await store.migrate()
    // Long for a busy machine: what is asked here is whether it works.
    const hf = createHoldfast({ store, budget: '20s' })
    try {
      const lock = hf.lock('a', { ttl: '10s' })
      for (let round = 0; round < 3; round += 1) {
        const held = await lock.acquire()
        expect(await hf.inspect('a')).toMatchObject({ fence: held.fence })
        await held.extend('20s')
        expect(await lock.tryAcquire()).toBeNull()
        expect(await held.release()).toMatchObject({ released: true })
        expect(await hf.inspect('a')).toBeNull()
      }

      const limiter = hf.limiter('l', slidingWindow({ limit: 3, per: '1h' }), {
        budget: '20s',
        rememberFor: 0,
      })
      const allowed: boolean[] = []
      for (let i = 0; i < 5; i += 1) {
        expect((await limiter.peek('ada')).allowed).toBe(i < 3)
        allowed.push((await limiter.take('ada')).allowed)
      }
      expect(allowed).toEqual([true, true, true, false, false])

      const once = hf.idempotency('o', { budget: '20s' })
      const key = { key: 'k', scope: 'global' }
      const outcomes = []
      for (const value of [1, 2]) outcomes.push(await once.run(key, {}, () => Promise.resolve(value)))
      expect(outcomes).toEqual([
        { value: 1, replayed: false },
        { value: 1, replayed: true },
      ])
      expect(await once.inspect(key)).toMatchObject({ state: 'done' })
    } finally {
      await hf.close()
    }
    const [open] = await beside.query<RowDataPacket[]>('SELECT trx_id FROM information_schema.innodb_trx')
    expect(open).toEqual([])
    const [meta] = await beside.query<RowDataPacket[]>(`SELECT \`value\` FROM ${tablePrefix}meta`)
    expect(meta).toHaveLength(1)
    await pool.end()
  })
})
