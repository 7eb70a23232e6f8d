import { limitStoreContract, lockStoreContract, onceStoreContract, systemClock } from 'holdfast/testing'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { startPostgres, type PostgresServer } from '../../src/index.ts'
import { systemBench } from '../contract/system-bench.ts'
import { clientKinds, connectStore, type ClientKind, type ConnectedStore } from './support.ts'

let server: PostgresServer
/** The way behind the store's back. */
let back: Pool

beforeAll(async () => {
  server = await startPostgres({ settings: { max_connections: 400 } })
  back = new Pool({ connectionString: server.url, max: 2 })
  const { store, close } = connectStore('pg', server.url)
  await store.migrate()
  await close()
})

afterAll(async () => {
  await back.end()
  await server.stop()
})

describe.concurrent('postgres', () => {
  for (const kind of clientKinds) {
    const locks = lockStoreContract({
      traits: { fences: 'clocked', wake: 'push', clock: 'server', durable: 'server' },
      setUp: () => bench(kind),
      remove: (_bench, key) => removeRow('holdfast_lock', key),
      keysWithoutExpiry: ({ prefix }) =>
        keysWhere('holdfast_lock', 'owner IS NOT NULL AND expires_at = 0', prefix),
    })
    const limits = limitStoreContract({
      setUp: () => bench(kind),
      keys: ({ prefix }) => keysWhere('holdfast_limit', `expires_at > ${systemClock.wall()}`, prefix),
      keysWithoutExpiry: ({ prefix }) =>
        keysWhere('holdfast_limit', "value <> '' AND expires_at = 0", prefix),
    })
    const once = onceStoreContract({
      setUp: () => bench(kind),
      remove: (_bench, key) => removeRow('holdfast_once', key),
      keysWithoutExpiry: ({ prefix }) => keysWhere('holdfast_once', "value <> '' AND expires_at = 0", prefix),
    })
    for (const { name, run } of locks) test(`lock store over ${kind}: ${name}`, run)
    // What is sent for limits and once is the same over both; locks have shown that it arrives.
    if (kind !== 'pg' && process.env['HOLDFAST_ALL_CLIENTS'] !== '1') continue
    for (const { name, run } of limits) test(`limit store over ${kind}: ${name}`, run)
    for (const { name, run } of once) test(`once store over ${kind}: ${name}`, run)
  }
})

async function bench(kind: ClientKind) {
  const connected: ConnectedStore[] = []
  return {
    ...systemBench(),
    connect: async () => {
      const one = connectStore(kind, server.url)
      connected.push(one)
      return one.store
    },
    end: async () => {
      for (const one of connected) await one.close()
    },
  }
}

async function removeRow(table: string, key: string): Promise<void> {
  await back.query(`DELETE FROM ${table} WHERE key = $1`, [key])
}

async function keysWhere(table: string, condition: string, prefix: string): Promise<string[]> {
  const { rows } = await back.query<{ key: string }>(`SELECT key FROM ${table} WHERE ${condition}`)
  return rows.map(({ key }) => key).filter((key) => key.startsWith(prefix))
}
