import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { owned, startCluster, waitFor, type RedisCluster, type RedisServer } from '../../src/index.ts'

let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(async () => {
  await cluster.stop()
  expect(owned()).toEqual({ pids: [], folders: [] })
})

const KEY = 'kit:{a}:key'

async function place(): Promise<{ slot: number; owner: RedisServer; other: RedisServer }> {
  const slot = await cluster.slotOf(KEY)
  const owner = await cluster.ownerOf(slot)
  return { slot, owner, other: await cluster.otherThan(owner) }
}

describe('startCluster', () => {
  test('six nodes: three primaries that share the slots, and a replica of each', async () => {
    expect(cluster.nodes).toHaveLength(6)
    const primaries = await cluster.primaries()
    expect(primaries).toHaveLength(3)
    for (const primary of primaries) expect(await cluster.replicasOf(primary)).toHaveLength(1)
    const owners = await Promise.all([0, 6_000, 16_383].map((slot) => cluster.ownerOf(slot)))
    expect(new Set(owners).size).toBe(3)
  })

  test('a slot moves with its keys, in one go', async () => {
    const { slot, owner, other } = await place()
    await owner.command('SET', KEY, 'v', 'PX', 60_000)
    await cluster.moveSlot(slot, other)
    expect(await cluster.ownerOf(slot)).toBe(other)
    expect(await other.command('GET', KEY)).toBe('v')
    expect(await other.command('PTTL', KEY)).toBeGreaterThan(50_000)
    await expect(owner.command('GET', KEY)).rejects.toMatchObject({ code: 'MOVED' })
  })

  test('or in slow steps: between them the old owner answers ASK for a key that has left', async () => {
    const { slot, owner, other } = await place()
    await owner.command('SET', KEY, 'w')
    const move = await cluster.openSlot(slot, other)
    expect(await owner.command('GET', KEY)).toBe('w')
    await expect(owner.command('MGET', KEY, 'kit:{a}:none')).rejects.toMatchObject({ code: 'TRYAGAIN' })
    await move.moveKeys()
    await expect(owner.command('GET', KEY)).rejects.toMatchObject({ code: 'ASK' })
    await expect(other.command('GET', KEY)).rejects.toMatchObject({ code: 'MOVED' })
    await move.finish()
    expect(await other.command('GET', KEY)).toBe('w')
  })

  test('a replica takes over when it is told to', async () => {
    const { slot, owner } = await place()
    const [replica] = (await cluster.replicasOf(owner)) as [RedisServer]
    await cluster.failover(replica)
    expect(await cluster.ownerOf(slot)).toBe(replica)
    await cluster.untilHealthy()
    await waitFor(async () => (await cluster.replicasOf(replica)).includes(owner), {
      what: 'the old primary to follow',
      within: 20_000,
    })
  })

  test('and by itself when its primary is killed; that comes back as a replica', async () => {
    const { slot, owner } = await place()
    const [replica] = (await cluster.replicasOf(owner)) as [RedisServer]
    await owner.kill()
    await cluster.untilPrimary(replica)
    expect(await cluster.ownerOf(slot)).toBe(replica)
    await owner.restart()
    await waitFor(async () => (await owner.info('replication'))['role'] === 'slave', {
      what: 'the old primary to follow',
      within: 20_000,
    })
    await cluster.untilHealthy()
  })
})
