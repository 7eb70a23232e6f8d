import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ownFolder,
  removeFolder,
  spawnWorker,
  startCluster,
  startRedis,
  type RedisCluster,
  type RedisServer,
} from '../../src/index.ts'
import type { StoreName } from '../../src/workers/stores.ts'

/**
 * Goal: locks never keep a process alive, and a wait always does.
 * Method: scripts that end by having nothing left to do, and tell how long that took after their last line. It is promised
 * within 50 ms; a timer of ours that was left running would hold them for longer than the bound here.
 */

const EXITS = new URL('../../src/workers/exits.ts', import.meta.url)
const AT_ONCE_MS = 500
const LONG = 15_000

interface Ended {
  readonly ms: number
  readonly outcome: unknown
}

let server: RedisServer
let cluster: RedisCluster
let folder: string

beforeAll(async () => {
  server = await startRedis()
  cluster = await startCluster({ replicas: 0 })
  folder = ownFolder('exiting')
})
afterAll(async () => {
  await server.stop()
  await cluster.stop()
  removeFolder(folder)
})

let files = 0

const stores: Record<string, () => StoreName> = {
  'redis over ioredis': () => ({ redis: server.url, client: 'ioredis' }),
  'redis over node-redis': () => ({ redis: server.url, client: 'redis' }),
  'a redis cluster over ioredis': () => ({ cluster: cluster.addresses, client: 'ioredis' }),
  'a redis cluster over node-redis': () => ({ cluster: cluster.addresses, client: 'redis' }),
  sqlite: () => ({ sqlite: join(folder, `locks ${(files += 1)}.db`) }),
  memory: () => ({ memory: true }),
}

async function run(what: string, store: StoreName): Promise<Ended> {
  const worker = await spawnWorker(EXITS, { args: [what, JSON.stringify(store)], ready: false })
  try {
    expect(await worker.exitedWithin(LONG), worker.stderr).toEqual({ code: 0, signal: null })
    expect(worker.stderr).toBe('')
    return JSON.parse(worker.stdout) as Ended
  } finally {
    await worker.kill()
    await server.command('FLUSHALL')
  }
}

/** Those of the stores that are named. */
const some = (...names: string[]) => Object.entries(stores).filter(([name]) => names.includes(name))

describe('D15: a script', () => {
  test.each(Object.entries(stores))(
    'on %s that acquires, releases and closes ends at once',
    async (_, store) => {
      const { ms, outcome } = await run('cycle', store())
      expect(outcome).toEqual({ released: true, confirmed: true })
      expect(ms).toBeLessThan(AT_ONCE_MS)
    },
  )

  test.each(Object.entries(stores).filter(([name]) => name.includes('redis')))(
    'on %s that forgets to close ends at once, too',
    async (_, store) => {
      const { ms, outcome } = await run('forgetful', store())
      expect(outcome).toEqual({ released: true, confirmed: true })
      expect(ms).toBeLessThan(AT_ONCE_MS)
    },
  )

  test.each(some('redis over ioredis', 'sqlite', 'memory'))(
    'on %s that still holds a lock ends at once',
    async (_, store) => {
      const { ms, outcome } = await run('holding', store())
      expect(outcome).toBeNull()
      expect(ms).toBeLessThan(AT_ONCE_MS)
    },
  )

  test.each(some('redis over ioredis', 'sqlite', 'memory'))(
    'on %s that only waits does not end before the wait does',
    async (_, store) => {
      const { outcome } = await run('waiting', store())
      expect(outcome).toMatchObject({ end: 'LOCK_TIMEOUT' })
      expect((outcome as { waited: number }).waited).toBeGreaterThanOrEqual(1_199)
    },
  )
})
