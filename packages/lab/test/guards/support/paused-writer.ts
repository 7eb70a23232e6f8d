/** A process that holds a lock and writes to a resource: guarded by the lock's fence, and not. It trusts the lock. */

import { createHoldfast, type Held } from 'holdfast'
import { mysqlFence, postgresFence, redisFence, sqliteFence } from 'holdfast/fence'
import { connectClient } from '../../../src/clients.ts'
import { serveWorker } from '../../../src/servers/worker-side.ts'
import { openStore, type StoreName } from '../../../src/workers/stores.ts'

/** Where the resource lies: the URL or path of a database with `resource (id, writer, fence)`. */
export interface Resource {
  readonly kind: 'postgres' | 'mysql' | 'sqlite' | 'redis'
  readonly at: string
}

interface Writer {
  /** Writes without looking at any fence. */
  plain(writer: string): Promise<void>
  /** Writes by the registry. */
  registry(writer: string, held: Held): Promise<void>
  /** Writes by the column of the row. */
  column(writer: string, held: Held): Promise<string>
}

const UPDATE = 'UPDATE resource SET writer ='

async function writerTo({ kind, at }: Resource): Promise<Writer> {
  if (kind === 'postgres') return postgresWriter(at)
  if (kind === 'mysql') return mysqlWriter(at)
  return kind === 'sqlite' ? sqliteWriter(at) : redisWriter(at)
}

async function postgresWriter(url: string): Promise<Writer> {
  // Each client is loaded where it is used: starting is most of the time that this test takes.
  const { Client } = (await import('pg')).default
  const client = new Client(url)
  // Its server is stopped before this process is.
  client.on('error', () => {})
  await client.connect()
  const guard = postgresFence({ table: 'guards_paused' })
  return {
    plain: async (writer) => void (await client.query(`${UPDATE} $1 WHERE id = 1`, [writer])),
    async registry(writer, held) {
      await client.query('BEGIN')
      try {
        await guard.check(client, 'resource:1', held)
        await client.query(`${UPDATE} $1 WHERE id = 1`, [writer])
        await client.query('COMMIT')
      } catch (error) {
        await client.query('ROLLBACK')
        throw error
      }
    },
    async column(writer, held) {
      const { set, where, ...fence } = fragments(guard.column(held))
      const result = await client.query(`${UPDATE} $1, ${set} WHERE id = 1 AND ${where}`, [writer])
      return fence.outcome(client, result, ROW)
    },
  }
}

async function mysqlWriter(url: string): Promise<Writer> {
  const { createConnection } = await import('mysql2/promise')
  const connection = await createConnection(url)
  connection.on('error', () => {})
  const guard = mysqlFence({ table: 'guards_paused' })
  return {
    plain: async (writer) => void (await connection.query(`${UPDATE} ? WHERE id = 1`, [writer])),
    async registry(writer, held) {
      await connection.beginTransaction()
      try {
        await guard.check(connection, 'resource:1', held)
        await connection.query(`${UPDATE} ? WHERE id = 1`, [writer])
        await connection.commit()
      } catch (error) {
        await connection.rollback()
        throw error
      }
    },
    async column(writer, held) {
      const { set, where, ...fence } = fragments(guard.column(held))
      const result = await connection.query(`${UPDATE} ?, ${set} WHERE id = 1 AND ${where}`, [writer])
      return fence.outcome(connection, result, ROW)
    },
  }
}

async function sqliteWriter(path: string): Promise<Writer> {
  const { default: Database } = await import('better-sqlite3')
  const database = new Database(path, { timeout: 5_000 })
  const guard = sqliteFence({ table: 'guards_paused' })
  const plain = (writer: string): void => void database.prepare(`${UPDATE} ? WHERE id = 1`).run(writer)
  return {
    plain: async (writer) => plain(writer),
    async registry(writer, held) {
      const both = database.transaction(() => {
        guard.check(database, 'resource:1', held)
        plain(writer)
      })
      both.immediate()
    },
    async column(writer, held) {
      const { set, where, ...fence } = fragments(guard.column(held))
      const result = database.prepare(`${UPDATE} ?, ${set} WHERE id = 1 AND ${where}`).run(writer)
      return fence.outcome(database, result, ROW)
    },
  }
}

async function redisWriter(url: string): Promise<Writer> {
  const { client, send } = await connectClient('ioredis', url)
  const guard = redisFence({ prefix: 'paused' })
  return {
    plain: async (writer) => void (await send('HSET', 'paused:{plain}', 'value', writer)),
    registry: (writer, held) => guard.write(client, 'resource:1', writer, held),
    async column(writer, held) {
      await guard.write(client, 'resource:2', writer, held)
      return 'written'
    },
  }
}

const ROW = { table: 'resource', where: 'id = 1' }

function fragments<Column extends { set: string; where: string; outcome: unknown }>(
  column: Column,
): { set: string; where: string; outcome: Column['outcome'] } {
  const outcome = (column.outcome as () => unknown).bind(column) as Column['outcome']
  return { set: column.set, where: column.where, outcome }
}

let held: Held
let writer: Writer

serveWorker({
  async open(lockName: string, store: StoreName, resource: Resource) {
    const { store: opened } = await openStore(store)
    const lock = createHoldfast({ store: opened }).lock(lockName, { ttl: 400, wait: '10s' })
    writer = await writerTo(resource)
    held = await lock.acquire()
    return String(held.fence)
  },
  plain: (who: string) => writer.plain(who),
  registry: (who: string) => writer.registry(who, held),
  column: (who: string) => writer.column(who, held),
})
