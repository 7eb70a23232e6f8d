import { join } from 'node:path'
import Database from 'better-sqlite3'
import { mysqlFence, postgresFence, sqliteFence } from 'holdfast/fence'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  mysqlUrlOrStart,
  ownFolder,
  postgresUrlOrStart,
  removeFolder,
  spawnWorker,
  startRedis,
} from '../../src/index.ts'
import type { RedisServer, Worker } from '../../src/index.ts'
import type { StoreName } from '../../src/workers/stores.ts'
import type { Resource } from './support/paused-writer.ts'

/**
 * Goal: whoever holds a lock, is stopped beyond its end and goes on, writes nothing any more at a guarded resource (F4).
 * Method: real processes under SIGSTOP and SIGCONT. The same write without a guard goes through, which is the accident.
 */

const CREATE =
  'CREATE TABLE resource (id INT PRIMARY KEY, writer VARCHAR(9), fence BIGINT NOT NULL DEFAULT 0)'
const INSERT = 'INSERT INTO resource (id) VALUES (1)'
const DROP = 'DROP TABLE resource'

interface Place {
  readonly store: StoreName
  readonly resource: Resource
  /** Who wrote last. */
  reader(): Promise<unknown>
  stop(): Promise<void>
}

let redis: RedisServer
const folder = ownFolder('guards')
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(async () => {
  await redis.stop()
  removeFolder(folder)
})

async function postgresPlace(): Promise<Place> {
  const postgres = await postgresUrlOrStart()
  const client = new Client(postgres.url)
  await client.connect()
  await postgresFence({ table: 'guards_paused' }).migrate(client)
  for (const statement of [CREATE, INSERT]) await client.query(statement)
  return {
    store: { redis: redis.url },
    resource: { kind: 'postgres', at: postgres.url },
    reader: async () =>
      (await client.query<{ writer: string }>('SELECT writer FROM resource')).rows[0]?.writer,
    async stop() {
      for (const statement of [DROP, 'DROP TABLE guards_paused']) await client.query(statement)
      await client.end()
      await postgres.stop()
    },
  }
}

async function mysqlPlace(): Promise<Place> {
  const mysql = await mysqlUrlOrStart()
  const connection = await createConnection(mysql.url)
  await mysqlFence({ table: 'guards_paused' }).migrate(connection)
  for (const statement of [CREATE, INSERT]) await connection.query(statement)
  return {
    store: { redis: redis.url },
    resource: { kind: 'mysql', at: mysql.url },
    reader: async () =>
      ((await connection.query('SELECT writer FROM resource'))[0] as { writer: string }[])[0]?.writer,
    async stop() {
      for (const statement of [DROP, 'DROP TABLE guards_paused']) await connection.query(statement)
      await connection.end()
      await mysql.stop()
    },
  }
}

async function sqlitePlace(): Promise<Place> {
  const at = join(folder, 'resource.db')
  const database = new Database(at)
  database.pragma('journal_mode = WAL')
  sqliteFence({ table: 'guards_paused' }).migrate(database)
  for (const statement of [CREATE, INSERT]) database.exec(statement)
  return {
    store: { sqlite: join(folder, 'locks.db') },
    resource: { kind: 'sqlite', at },
    reader: async () => database.prepare('SELECT writer FROM resource').pluck().get(),
    stop: async () => void database.close(),
  }
}

async function redisPlace(): Promise<Place> {
  const read = async (key: string): Promise<unknown> => redis.command('HGET', key, 'value')
  return {
    store: { redis: redis.url },
    resource: { kind: 'redis', at: redis.url },
    reader: async () =>
      (await read('paused:{plain}')) ??
      (await read('paused:{resource:2}:fenced')) ??
      (await read('paused:{resource:1}:fenced')),
    stop: async () => void (await redis.command('FLUSHALL')),
  }
}

const places = { postgres: postgresPlace, mysql: mysqlPlace, sqlite: sqlitePlace, redis: redisPlace }

let first: Worker
let second: Worker
beforeAll(async () => {
  const file = new URL('./support/paused-writer.ts', import.meta.url)
  ;[first, second] = await Promise.all([spawnWorker(file), spawnWorker(file)])
})
afterAll(() => Promise.all([first.kill(), second.kill()]))

test.each(Object.entries(places))(
  'F3 F4: on %s, a holder that was stopped beyond its lease is refused; without a guard it overwrites its successor',
  async (name, open) => {
    const place = await open()
    const take = (worker: Worker): Promise<string> =>
      worker.call<string>('open', name, { ...place.store }, { ...place.resource })
    try {
      const early = await take(first)
      await first.stop()
      const late = await take(second)
      expect(BigInt(late)).toBeGreaterThan(BigInt(early))
      await second.call('registry', 'second')
      await second.call('column', 'second')

      // Sent while it stands still: the first thing it does when it goes on.
      const refused = expect(first.call('registry', 'first')).rejects.toMatchObject({ code: 'STALE_FENCE' })
      first.continue()
      await refused
      await expect(first.call('column', 'first')).rejects.toMatchObject({ code: 'STALE_FENCE' })
      expect(await place.reader()).toBe('second')

      await first.call('plain', 'first')
      expect(await place.reader()).toBe('first')
    } finally {
      await place.stop()
    }
  },
)
