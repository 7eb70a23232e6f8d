import Database from 'better-sqlite3'
import { join } from 'node:path'
import { createHoldfast, type Holdfast, type HoldfastOptions, type Store } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { quorumStore } from 'holdfast/quorum'
import { redisStore } from 'holdfast/redis'
import { sqliteStore } from 'holdfast/sqlite'
import { connectClient, connectCluster } from '../../src/clients.ts'
import {
  mysqlUrlOrStart,
  ownFolder,
  postgresUrlOrStart,
  removeFolder,
  startCluster,
  startRedis,
} from '../../src/index.ts'
import { connectStore as connectMysql } from '../mysql/support.ts'
import { connectStore as connectPostgres } from '../postgres/support.ts'

/** Every store, each at a place that several processes share. */
export const places = {
  memory: memoryPlace,
  sqlite: sqlitePlace,
  'redis over ioredis': () => redisPlace('ioredis'),
  'redis over node-redis': () => redisPlace('redis'),
  'a redis cluster': clusterPlace,
  'a quorum': quorumPlace,
  postgres: postgresPlace,
  mariadb: mariadbPlace,
} as const

export interface Place {
  /** A further process. */
  another(options?: HoldfastOptions): Promise<Holdfast>
  end(): Promise<void>
}

let prefixes = 0

/** Instances over stores, each of which is opened once. */
async function placeOf(connect: () => Promise<Store> | Store, ends: (() => unknown)[]): Promise<Place> {
  const prefix = `all${(prefixes += 1)}-${process.pid}:v1`
  const instances: Holdfast[] = []
  return {
    another: async (options = {}) => {
      const hf = createHoldfast({ store: await connect(), prefix, ...options })
      instances.push(hf)
      return hf
    },
    end: async () => {
      for (const hf of instances) await hf.close()
      for (const end of ends.reverse()) await end()
    },
  }
}

function memoryPlace(): Promise<Place> {
  const store = memoryStore()
  return placeOf(() => store, [])
}

function sqlitePlace(): Promise<Place> {
  const folder = ownFolder('lock-all')
  const ends: (() => unknown)[] = [() => removeFolder(folder)]
  return placeOf(() => {
    const database = new Database(join(folder, 'locks.db'))
    ends.push(() => database.close())
    return sqliteStore(database)
  }, ends)
}

async function redisPlace(kind: 'ioredis' | 'redis'): Promise<Place> {
  const server = await startRedis()
  const ends: (() => unknown)[] = [() => server.stop()]
  return placeOf(async () => {
    const client = await connectClient(kind, server.url)
    ends.push(() => client.close())
    return redisStore(client.client)
  }, ends)
}

async function clusterPlace(): Promise<Place> {
  const cluster = await startCluster({ replicas: 0 })
  const ends: (() => unknown)[] = [() => cluster.stop()]
  return placeOf(async () => {
    const client = await connectCluster('ioredis', cluster.addresses)
    ends.push(() => client.close())
    return redisStore(client.client)
  }, ends)
}

async function quorumPlace(): Promise<Place> {
  const servers = await Promise.all([startRedis(), startRedis(), startRedis()])
  const ends: (() => unknown)[] = servers.map((server) => () => server.stop())
  return placeOf(async () => {
    const clients = await Promise.all(servers.map((server) => connectClient('ioredis', server.url)))
    ends.push(() => {
      for (const client of clients) client.close()
    })
    return quorumStore(
      clients.map(({ client }) => redisStore(client)),
      { fence: true },
    )
  }, ends)
}

async function postgresPlace(): Promise<Place> {
  const server = await postgresUrlOrStart()
  const tables = { tablePrefix: `all_${process.pid}` }
  const ends: (() => unknown)[] = [() => server.stop()]
  return placeOf(async () => {
    const { store, close } = connectPostgres('pg', server.url, tables)
    await store.migrate()
    ends.push(close)
    return store
  }, ends)
}

async function mariadbPlace(): Promise<Place> {
  const server = await mysqlUrlOrStart()
  const ends: (() => unknown)[] = [() => server.stop()]
  return placeOf(async () => {
    const { store, close } = await connectMysql('promise pool', server.url)
    await store.migrate()
    ends.push(close)
    return store
  }, ends)
}
