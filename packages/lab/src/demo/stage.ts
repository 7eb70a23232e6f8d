/** Where the demo runs: a temporary folder, the store of locks and limits, and the processes that use them. */

import { join } from 'node:path'
import { Redis } from 'ioredis'
import { ownFolder, removeFolder } from '../servers/lifetime.ts'
import { redisUrlOrStart } from '../servers/redis-url.ts'
import { spawnWorker } from '../servers/worker.ts'
import type { Worker } from '../servers/worker.ts'
import { openDatabase } from './database.ts'
import type { StoreName } from './options.ts'
import type { StorePlace } from './place.ts'

export class Stage {
  readonly folder = ownFolder('demo')
  readonly place: StorePlace
  /** The store in words, as `Redis 7.0.15, started for this run`. */
  readonly storeInWords: string
  readonly #workers: Worker[] = []
  readonly #removeStore: () => Promise<void>

  constructor({ place, storeInWords, removeStore }: StoreToUse) {
    this.place = place
    this.storeInWords = storeInWords
    this.#removeStore = removeStore
  }

  /** Starts one process for each lane. It finds its lane and the store's place in its arguments. */
  async startWorkers(file: URL, lanes: readonly string[]): Promise<Worker[]> {
    const place = JSON.stringify(this.place)
    return Promise.all(
      lanes.map(async (lane) => {
        const worker = await spawnWorker(file, { args: [lane, place] })
        this.#workers.push(worker)
        return worker
      }),
    )
  }

  async endWorkers(): Promise<void> {
    await Promise.all(this.#workers.splice(0).map((worker) => worker.kill()))
  }

  /** Ends and removes everything: processes, keys, server, folder. */
  async clear(): Promise<void> {
    // First the processes, or they would write again what is removed.
    await this.endWorkers()
    await this.#removeStore()
    removeFolder(this.folder)
  }
}

interface StoreToUse {
  readonly place: StorePlace
  readonly storeInWords: string
  /** Removes what the run left there. May be called again. */
  readonly removeStore: () => Promise<void>
}

/** The store that was asked for cannot be had. */
export class NoStoreError extends Error {
  override readonly name = 'NoStoreError'
}

/** A server of somebody else's that does not answer in this time is none, in milliseconds. */
const ANSWERS_WITHIN = 3_000

/**
 * Prepares the store, or the best there is: without a wish Redis, and if that cannot be had SQLite, which `say` is told.
 *
 * @throws NoStoreError when Redis was asked for and cannot be had
 */
export async function prepareStage(wish: StoreName | null, say: (line: string) => void): Promise<Stage> {
  if (wish === 'sqlite') return new Stage(useSqlite())
  try {
    return new Stage(await useRedis())
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    if (wish === 'redis') throw new NoStoreError(`No Redis can be had: ${reason}`, { cause: error })
    say(`No Redis can be had (${reason}). Locks and limits are kept in SQLite instead.`)
    return new Stage(useSqlite())
  }
}

function useSqlite(): StoreToUse {
  const folder = ownFolder('demo-store')
  const file = join(folder, 'store.db')
  // Made here, so that no two workers make it at once.
  openDatabase(file).close()
  return {
    place: { store: 'sqlite', file, prefix: 'demo' },
    storeInWords: 'SQLite, a file on this machine',
    removeStore: async () => removeFolder(folder),
  }
}

async function useRedis(): Promise<StoreToUse> {
  const redis = await redisUrlOrStart()
  const { owned, url, prefix } = redis
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: ANSWERS_WITHIN,
    commandTimeout: ANSWERS_WITHIN,
    retryStrategy: () => null,
  })
  let lastError: Error | undefined
  client.on('error', (error: Error) => (lastError = error))
  try {
    await client.connect()
    const version = await versionOf(client)
    return {
      place: { store: 'redis', url, prefix },
      storeInWords: `Redis ${version}, ${owned ? 'started for this run' : 'the one of HOLDFAST_REDIS_URL'}`,
      removeStore: async () => {
        if (!owned) await removeKeys(client, prefix).catch(() => undefined)
        client.disconnect()
        await redis.stop()
      },
    }
  } catch (error) {
    client.disconnect()
    await redis.stop()
    throw owned ? error : new Error(`HOLDFAST_REDIS_URL: ${describe(lastError ?? error)}`, { cause: error })
  }
}

async function versionOf(client: Redis): Promise<string> {
  const version = /^redis_version:(\S+)/m.exec(await client.info('server'))?.[1] ?? 'of an unknown version'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < 6 || (major === 6 && minor < 2))
    throw new Error(`it is Redis ${version}; 6.2 or later is needed`)
  return version
}

/** Our own keys only: the prefix is fresh, and no other software's key starts with it. */
async function removeKeys(client: Redis, prefix: string): Promise<void> {
  for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1_000 })) {
    if ((keys as string[]).length > 0) await client.unlink(keys as string[])
  }
}

/** Errors of sockets may have no message of their own. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message || (error as { code?: string }).code || error.name
}
