import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import type * as holdfast from 'holdfast'
import type * as holdfastPostgres from 'holdfast/postgres'
import type * as holdfastQuorum from 'holdfast/quorum'
import type * as holdfastRedis from 'holdfast/redis'
import type { IoredisLike, NodeRedisLike } from 'holdfast/redis'

/**
 * Packages of the bench, each loaded only by the process that uses it. Their types are the few methods used here, so that
 * this folder is checked without them being installed.
 */

export interface Ioredis extends IoredisLike {
  connect(): Promise<void>
  set(key: string, value: string, px: 'PX', ttl: number, nx: 'NX'): Promise<'OK' | null>
  get(key: string): Promise<string | null>
  script(subcommand: 'LOAD', source: string): Promise<unknown>
  evalsha(sha1: string, keys: number, ...keysAndArgs: string[]): Promise<unknown>
  blpop(key: string, seconds: number): Promise<[string, string] | null>
  lpush(key: string, value: string): Promise<number>
  del(key: string): Promise<number>
}

export interface NodeRedis extends NodeRedisLike {
  connect(): Promise<unknown>
  set(key: string, value: string, options: { PX: number; NX: true }): Promise<string | null>
  scriptLoad(source: string): Promise<unknown>
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  destroy(): void
}

/** A connection of pg. */
export interface GuardClient {
  query(text: string): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>
}

interface PgModule {
  readonly default: {
    readonly Client: new (url: string) => GuardClient & { connect(): Promise<void>; end(): Promise<void> }
  }
}

interface IoredisModule {
  readonly Redis: new (url: string, options: object) => Ioredis
}

interface NodeRedisModule {
  readonly createClient: (options: object) => NodeRedis
}

/** A package of bench/package.json. */
export async function load<T>(name: string): Promise<T> {
  return (await import(name)) as T
}

/** Connects ioredis 5 with its own defaults. */
export async function connectIoredis(url: string, options: object = {}): Promise<Ioredis> {
  const { Redis } = await load<IoredisModule>('ioredis')
  const client = new Redis(url, { lazyConnect: true, ...options })
  // Without a listener it writes to the console.
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Connects node-redis with its own defaults. */
export async function connectNodeRedis(url: string): Promise<NodeRedis> {
  const { createClient } = await load<NodeRedisModule>('redis')
  const client = createClient({ url })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Connects pg with its own defaults. */
export async function connectPg(url: string): Promise<GuardClient & { end(): Promise<void> }> {
  const { default: pg } = await load<PgModule>('pg')
  const client = new pg.Client(url)
  await client.connect()
  return client
}

const built = (file: string) =>
  pathToFileURL(join(import.meta.dirname, '../../packages/holdfast/dist', file)).href

/** As it is shipped. */
export async function loadPostgresFence(): Promise<typeof holdfastPostgres.postgresFence> {
  return (await load<typeof holdfastPostgres>(built('postgres.js'))).postgresFence
}

type Library = typeof holdfast &
  Pick<typeof holdfastRedis, 'redisStore'> &
  Pick<typeof holdfastQuorum, 'quorumStore'>

/** The library as it is shipped: what `npm run build` made. */
export async function loadHoldfast(): Promise<Library> {
  const library = await load<typeof holdfast>(built('index.js'))
  const { redisStore } = await load<typeof holdfastRedis>(built('redis.js'))
  const { quorumStore } = await load<typeof holdfastQuorum>(built('quorum.js'))
  return { ...library, redisStore, quorumStore }
}
