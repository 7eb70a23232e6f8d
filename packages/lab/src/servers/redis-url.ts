import { randomUUID } from 'node:crypto'
import { startRedis } from './redis.ts'
import type { RedisOptions, RedisServer } from './redis.ts'

/** A Redis to work with, and how freely. */
export type RedisToUse =
  | {
      readonly owned: true
      readonly url: string
      readonly prefix: string
      readonly server: RedisServer
      stop(): Promise<void>
    }
  | { readonly owned: false; readonly url: string; readonly prefix: string; stop(): Promise<void> }

/**
 * The Redis that HOLDFAST_REDIS_URL names, or else one of our own.
 *
 * The named one belongs to somebody: everything has to stay under the fresh `prefix`, and nobody may send it CONFIG,
 * FLUSHALL or SHUTDOWN, or stop it. The type offers no handle for that. `stop` ends our own server and leaves a
 * named one alone.
 */
export async function redisUrlOrStart(options: RedisOptions = {}): Promise<RedisToUse> {
  const prefix = `holdfast-lab-${randomUUID()}`
  const url = process.env.HOLDFAST_REDIS_URL
  if (url !== undefined && url !== '') return { owned: false, url, prefix, stop: async () => {} }
  const server = await startRedis(options)
  return { owned: true, url: server.url, prefix, server, stop: () => server.stop() }
}
