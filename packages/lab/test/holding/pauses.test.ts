import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownFolder, removeFolder, sleep, spawnWorker, startRedis, waitFor } from '../../src/index.ts'
import type { RedisServer, Worker } from '../../src/index.ts'
import type { Belief } from '../../src/workers/holder.ts'
import type { StoreName } from '../../src/workers/stores.ts'

/**
 * Goal: a holder that did not run for longer than its lease knows it on the first line on which it runs again.
 * Method: real processes whose event loop is blocked, or that are stopped by the kernel, on real stores.
 */

const HOLDER = new URL('../../src/workers/holder.ts', import.meta.url)
const TTL = 600
/** For what is promised within 50 ms; the machine is shared. */
const SLACK_MS = 500

let server: RedisServer
let folder: string
let worker: Worker

beforeAll(async () => {
  server = await startRedis()
  folder = ownFolder('pauses')
})
afterAll(async () => {
  await server.stop()
  removeFolder(folder)
})

const stores: Record<string, () => StoreName> = {
  redis: () => ({ redis: server.url }),
  sqlite: () => ({ sqlite: join(folder, 'locks.db') }),
  memory: () => ({ memory: true }),
}

let locks = 0

/** A lock in the process of the present store. */
async function acquire(options: object = {}): Promise<number> {
  const name = `lock ${(locks += 1)}`
  const { id } = await worker.call<{ id: number }>('acquire', name, { ttl: TTL, ...options })
  return id
}

const LOST = { aborted: true, abortedNow: true, asserts: false, remaining: 0 }

const toldOf = (owner: string): boolean =>
  worker.events.some(({ event, data }) => event === 'lost' && (data as { owner: string }).owner === owner)

describe.each(Object.entries(stores))('%s', (_, store) => {
  beforeAll(async () => {
    worker = await spawnWorker(HOLDER)
    await worker.call('open', store(), { prefix: 'pauses:v1' })
  })
  afterAll(() => worker.kill())

  test('D1: the event loop is blocked for 1.5 ttl: all is right on the very next line, the signal first', async () => {
    const id = await acquire()
    const read = await worker.call<{ first: boolean; belief: Belief }>('blocked', id, 1.5 * TTL, 'signal')
    expect(read).toMatchObject({ first: true, belief: LOST })
    expect(['expired', 'unreachable']).toContain(read.belief.lost)
  })

  test('D1: the event loop is blocked for half a ttl: still held', async () => {
    const id = await acquire({ ttl: 3_000 })
    const read = await worker.call('blocked', id, 1_000, 'lost')
    expect(read).toMatchObject({ first: false, belief: { lost: null, aborted: false, asserts: true } })
  })

  test('D1: stopped for 1.5 ttl: right in the first turn after it goes on, and told in it', async () => {
    const id = await acquire()
    await worker.stop()
    // It lies there already when the process goes on.
    const asked = worker.call<Belief>('belief', id)
    await sleep(1.5 * TTL)
    const before = performance.now()
    worker.continue()
    const belief = await asked
    expect(belief).toMatchObject(LOST)
    expect(['expired', 'unreachable']).toContain(belief.lost)
    await waitFor(() => toldOf(belief.owner), { what: 'to be told' })
    expect(performance.now() - before).toBeLessThan(SLACK_MS)
    expect(await worker.call('release', id)).toEqual({ released: false, reason: belief.lost })
  })

  test('fault 4: stopped between the grant and the first use: the first use is refused', async () => {
    const id = await acquire({ renew: false })
    await worker.stop()
    await sleep(2 * TTL)
    const asked = worker.call<Belief>('belief', id)
    worker.continue()
    expect(await asked).toMatchObject({ ...LOST, lost: 'expired' })
  })
})
