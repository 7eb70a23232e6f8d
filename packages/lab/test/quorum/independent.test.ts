import Database from 'better-sqlite3'
import { createHoldfast, type Holdfast, type Store } from 'holdfast'
import { quorumStore } from 'holdfast/quorum'
import { redisStore } from 'holdfast/redis'
import { sqliteStore } from 'holdfast/sqlite'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectClient } from '../../src/clients.ts'
import {
  ownFolder,
  removeFolder,
  startMariadb,
  startPostgres,
  startProxy,
  startRedis,
  waitFor,
} from '../../src/index.ts'
import { connectStore as connectMysql } from '../mysql/support.ts'
import { connectStore as connectPostgres } from '../postgres/support.ts'

/**
 * Goal: B5 for every kind of store: one that is listed twice is refused at first use, by whatever way it is reached; servers of
 * several kinds are a quorum.
 * Method: real files and servers, each by two clients.
 */

const IN_VAIN = /nodes 0 and 1.*are one server/

let folder: string
const ends: (() => unknown)[] = []

beforeEach(() => {
  folder = ownFolder('quorum')
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  removeFolder(folder)
})

function open(...nodes: Store[]): Holdfast {
  const hf = createHoldfast({ store: quorumStore(nodes, { nodeBudget: '5s' }) })
  ends.push(() => hf.close())
  return hf
}

function file(name: string): Store {
  const database = new Database(join(folder, name))
  ends.push(() => database.close())
  return sqliteStore(database)
}

test('one SQLite file by two connections, also under another name; one connection by two stores', async () => {
  await expect(open(file('a'), file('a'), file('b')).lock('x').acquire()).rejects.toThrow(IN_VAIN)
  symlinkSync(join(folder, 'a'), join(folder, 'alias'))
  await expect(open(file('a'), file('alias'), file('b')).lock('x').acquire()).rejects.toThrow(IN_VAIN)
  const memory = new Database(':memory:')
  ends.push(() => memory.close())
  const twice = open(sqliteStore(memory), sqliteStore(memory), file('b'))
  await expect(twice.lock('x').acquire()).rejects.toThrow(IN_VAIN)
})

test('one Postgres by two clients, and by two schemas', async () => {
  const server = await startPostgres()
  ends.push(() => server.stop())
  const stores = [
    connectPostgres('pg', server.url),
    connectPostgres('postgres.js', server.url, { schema: 'other' }),
  ]
  for (const { store, close } of stores) {
    ends.push(close)
    await store.migrate()
  }
  const nodes = stores.map(({ store }) => store)
  await expect(
    open(...nodes, file('b'))
      .lock('x')
      .acquire(),
  ).rejects.toThrow(IN_VAIN)
})

test('one MariaDB by two clients', async () => {
  const server = await startMariadb()
  ends.push(() => server.stop())
  const stores = [
    await connectMysql('promise pool', server.url),
    await connectMysql('callback pool', server.url),
  ]
  for (const { store, close } of stores) {
    ends.push(close)
    await store.migrate()
  }
  const nodes = stores.map(({ store }) => store)
  await expect(
    open(...nodes, file('b'))
      .lock('x')
      .acquire(),
  ).rejects.toThrow(IN_VAIN)
})

test('a Redis whose answer to who it is was lost has no say until it has told', async () => {
  const [a, b] = [await startRedis(), await startRedis()]
  ends.push(
    () => a.stop(),
    () => b.stop(),
  )
  const proxy = await startProxy({ target: a })
  ends.push(() => proxy.close())
  const urls = [a.url, `redis://127.0.0.1:${proxy.port}`, b.url]
  const clients = await Promise.all(urls.map((url) => connectClient('redis', url)))
  for (const { close } of clients) ends.push(close)
  const passAll = proxy.onCommand(({ name }) => (name === 'INFO' ? 'lose-reply' : undefined))
  const [one, alias, other] = clients.map(({ client }) => redisStore(client)) as [Store, Store, Store]
  const hf = open(one, alias, other)
  await (await hf.lock('x').acquire()).release()
  passAll()
  await waitFor(
    async () =>
      IN_VAIN.test(
        await hf
          .lock('x')
          .tryAcquire()
          .then((held) => held?.release().then(() => 'granted') ?? 'busy', String),
      ),
    { what: 'the same server to be found out' },
  )
})

test('a file, a Postgres, a MariaDB are a quorum: held and handed over, also without one of them', async () => {
  const [postgres, mariadb] = await Promise.all([startPostgres(), startMariadb()])
  ends.push(
    () => postgres.stop(),
    () => mariadb.stop(),
  )
  const nodes = [
    connectPostgres('pg', postgres.url),
    await connectMysql('promise pool', mariadb.url),
  ] as const
  for (const { store, close } of nodes) {
    ends.push(close)
    await store.migrate()
  }
  const hf = open(nodes[0].store, nodes[1].store, file('a'))
  const lock = hf.lock('x', { ttl: '30s', wait: '20s' })
  const held = await lock.acquire()
  const next = lock.acquire()
  await mariadb.kill()
  await held.extend('40s')
  await held.release()
  await (await next).release()
})
