import { randomUUID } from 'node:crypto'
import { limitStoreContract, lockStoreContract, onceStoreContract, systemClock } from 'holdfast/testing'
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { mysqlUrlOrStart, type MysqlServer, type SqlToUse } from '../../src/index.ts'
import { systemBench } from '../contract/system-bench.ts'
import { connectStore, type ClientKind, type ConnectedStore } from './support.ts'

let server: SqlToUse<MysqlServer>
/** A given database may be in use. */
const tablePrefix = `holdfast_${randomUUID().slice(0, 8)}_`
/** The way behind the store's back. */
let back: Pool

beforeAll(async () => {
  server = await mysqlUrlOrStart({ settings: { 'max-connections': 500 } })
  back = createPool({ uri: server.url, connectionLimit: 2 })
  const { store, close } = await connectStore('promise pool', server.url, { tablePrefix })
  await store.migrate()
  await close()
})

afterAll(async () => {
  for (const table of ['meta', 'lock', 'queue', 'limit', 'limit_reply', 'once'])
    await back.query(`DROP TABLE ${tablePrefix}${table}`)
  await back.end()
  await server.stop()
})

describe.concurrent('mysql', () => {
  const locks = lockStoreContract({
    traits: { fences: 'clocked', wake: 'poll', clock: 'server', durable: 'server' },
    setUp: () => bench('promise pool'),
    remove: (_bench, key) => removeRow('lock', key),
    keysWithoutExpiry: ({ prefix }) => keysWhere('lock', 'owner IS NOT NULL AND expires_at = 0', prefix),
  })
  const limits = limitStoreContract({
    setUp: () => bench('promise pool'),
    keys: ({ prefix }) => keysWhere('limit', `expires_at > ${systemClock.wall()}`, prefix),
    keysWithoutExpiry: ({ prefix }) => keysWhere('limit', "`value` <> '' AND expires_at = 0", prefix),
  })
  const once = onceStoreContract({
    setUp: () => bench('callback pool'),
    remove: (_bench, key) => removeRow('once', key),
    keysWithoutExpiry: ({ prefix }) => keysWhere('once', "`value` <> '' AND expires_at = 0", prefix),
  })
  for (const { name, run } of locks) test(`lock store: ${name}`, run)
  // A thousand calls at once want the machine for themselves.
  for (const { name, run } of limits)
    (/E13|E25/.test(name) ? test.sequential : test)(`limit store: ${name}`, run)
  for (const { name, run } of once) test(`once store: ${name}`, run)
})

async function bench(kind: ClientKind) {
  const connected: ConnectedStore[] = []
  return {
    ...systemBench(),
    connect: async () => {
      const one = await connectStore(kind, server.url, { tablePrefix })
      connected.push(one)
      return one.store
    },
    end: async () => {
      for (const one of connected) await one.close()
    },
  }
}

async function removeRow(table: string, key: string): Promise<void> {
  await back.query(`DELETE FROM ${tablePrefix}${table} WHERE \`key\` = ?`, [Buffer.from(key)])
}

async function keysWhere(table: string, condition: string, prefix: string): Promise<string[]> {
  const [rows] = await back.query<(RowDataPacket & { key: Buffer })[]>(
    `SELECT \`key\` FROM ${tablePrefix}${table} WHERE ${condition}`,
  )
  return rows.map(({ key }) => key.toString()).filter((key) => key.startsWith(prefix))
}
