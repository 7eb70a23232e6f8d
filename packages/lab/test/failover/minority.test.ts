import { createHoldfast, NotAcknowledgedError, type Holdfast } from 'holdfast'
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { connectClient } from '../../src/clients.ts'
import {
  ownFolder,
  removeFolder,
  startReplicaSet,
  waitFor,
  type RedisServer,
  type ReplicaSet,
} from '../../src/index.ts'
import { GuardedTable } from '../../src/workers/guarded-table.ts'

/**
 * Goal: an old primary that serves on for clients who do not know of its successor. It grants what the other one grants, and that is shown;
 * with all replicas acknowledged, or with `min-replicas-to-write`, it grants nothing; a table that checks fences takes no stale write.
 * Method: a primary and two replicas; the network parts, one replica is promoted, and one client stays with the old primary.
 */

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function open(url: string, options: RedisStoreOptions = {}): Promise<Holdfast> {
  const { client, close } = await connectClient('ioredis', url)
  const hf = createHoldfast({ store: redisStore(client, options), budget: 600 })
  ends.push(async () => {
    await hf.close()
    close()
  })
  return hf
}

/** The old primary loses sight of its replicas, one of which takes its place. */
async function part(set: ReplicaSet): Promise<RedisServer> {
  for (const link of set.links) {
    link.toClient.drop()
    link.resetAll()
  }
  const next = set.replicas[0] as RedisServer
  await next.command('REPLICAOF', 'NO', 'ONE')
  return next
}

describe('16: an old primary serves on', () => {
  test('plain: both grant one lock, and the table refuses whoever holds the lower fence', async () => {
    const set = await startReplicaSet({ links: true })
    ends.push(() => set.stop())
    const [old] = set.servers as [RedisServer]
    const behind = await open(old.url)
    const next = await part(set)
    const ahead = await open(next.url)
    const stale = await behind.lock('a', { ttl: '20s' }).acquire()
    const held = await ahead.lock('a', { ttl: '20s' }).acquire()
    expect([stale.lost, held.lost]).toEqual([null, null])
    expect(held.fence).toBeGreaterThan(stale.fence)
    const folder = ownFolder('minority')
    const table = new GuardedTable(join(folder, 'table.db'))
    ends.push(() => {
      table.close()
      removeFolder(folder)
    })
    expect(table.write('ahead', held.fence)).toBe(true)
    expect(table.write('behind', stale.fence)).toBe(false)
    // When it hears of the new one it follows, and loses what it granted.
    await old.command('REPLICAOF', next.host, next.port)
    await waitFor(() => stale.lost !== null, { what: 'the one who stayed behind to be told', within: 30_000 })
  })

  test('acknowledged by both replicas it grants nothing; with min-replicas-to-write neither, a moment later', async () => {
    const set = await startReplicaSet({ links: true, config: { 'min-replicas-max-lag': 1 } })
    ends.push(() => set.stop())
    const [old] = set.servers as [RedisServer]
    const behind = await open(old.url, { acknowledge: { replicas: 2, of: 2 } })
    const plain = await open(old.url)
    await (await behind.lock('warm').acquire()).release()
    const next = await part(set)
    await expect(behind.lock('a').tryAcquire()).rejects.toBeInstanceOf(NotAcknowledgedError)
    await (await (await open(next.url)).lock('a').acquire()).release()
    await old.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
    const refused = async (): Promise<boolean> => {
      const error: unknown = await plain
        .lock('b', { ttl: 500 })
        .tryAcquire()
        .then((held) => held?.release())
        .catch((failure: unknown) => failure)
      return error instanceof Error && error.message.includes('NOREPLICAS')
    }
    await waitFor(refused, { what: 'NOREPLICAS', within: 10_000 })
  })
})
