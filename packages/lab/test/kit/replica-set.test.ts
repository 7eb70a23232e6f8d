import { afterEach, describe, expect, test } from 'vitest'
import { owned, startReplicaSet, waitFor, type ReplicaSet } from '../../src/index.ts'

/**
 * Goal: the kit's sets fail over as real ones do, by hand and by sentinels, and nothing of them stays.
 * Method: real servers; what each of them says of its role and its data.
 */

let set: ReplicaSet

afterEach(async () => {
  const { servers, sentinels } = set
  const pids = [...servers, ...sentinels].map(({ pid }) => pid)
  await set.stop()
  expect(owned().pids.filter((pid) => pids.includes(pid))).toEqual([])
})

describe('a set by hand', () => {
  test('a replica that is cut off misses what the primary wrote, and is promoted without it', async () => {
    set = await startReplicaSet({ links: true })
    const [primary, replica, other] = set.servers as [never, never, never]
    await call(primary, 'SET', 'early', '1')
    await set.untilInSync()
    expect(await call(replica, 'GET', 'early')).toBe('1')
    set.links[0]?.toClient.hold()
    await call(primary, 'SET', 'late', '1')
    await waitFor(async () => (await call(other, 'GET', 'late')) === '1', { what: 'the other to have it' })
    await set.killPrimary(primary)
    await set.promote(replica)
    expect(await set.primaries()).toEqual([replica])
    expect(await call(replica, 'GET', 'late')).toBeNull()
    await set.untilInSync()
    expect(await call(other, 'GET', 'late')).toBeNull()
  })

  test('who waits for it to be in sync goes by whoever is the primary by then', async () => {
    set = await startReplicaSet({ links: true })
    const [primary, , other] = set.servers as [never, never, never]
    set.links[0]?.toClient.hold()
    await call(primary, 'SET', 'late', '1')
    const inSync = set.untilInSync()
    await waitFor(async () => (await call(other, 'GET', 'late')) === '1', { what: 'the other to have it' })
    await set.promote(other)
    await inSync
    expect(await set.primaries()).toEqual([other])
  })
})

describe('a set with sentinels', () => {
  test('a killed primary is replaced, and comes back as a replica', async () => {
    set = await startReplicaSet({ sentinels: 3 })
    const [first] = set.servers as [ReplicaSet['servers'][number]]
    expect(await set.watched()).toBe(first.port)
    await first.kill()
    const second = await set.untilPrimary({ than: first })
    await waitFor(async () => (await set.watched()) === second.port, { what: 'the sentinels to agree' })
    await first.restart({ keepData: false })
    await waitFor(async () => (await set.primaries()).length === 1, {
      what: 'the old one to follow',
      within: 20_000,
    })
    await set.untilInSync()
  })
})

function call(server: ReplicaSet['servers'][number], ...args: string[]): Promise<unknown> {
  return server.command(...args)
}
