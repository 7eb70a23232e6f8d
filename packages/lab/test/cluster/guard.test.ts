import { StaleFenceError } from 'holdfast'
import { redisFence, type FenceRedisClient } from 'holdfast/fence'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientKinds, connectCluster, type ConnectedCluster } from '../../src/clients.ts'
import { startCluster, type RedisCluster } from '../../src/index.ts'

/**
 * Goal: values in a cluster are guarded as those of one server are: each lies in one slot, and takes its fence along when that moves.
 * Method: a real cluster, whose clients find the node by the key.
 */

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startCluster({ replicas: 0 })
})
afterAll(() => cluster.stop())

describe.each(clientKinds)('over %s', (kind) => {
  let connected: ConnectedCluster
  let client: FenceRedisClient
  const guard = redisFence({ prefix: `guard-${kind}:v1` })
  const keyOf = (resource: string): string => `guard-${kind}:v1:{${resource}}:fenced`

  beforeEach(async () => {
    connected = await connectCluster(kind, cluster.addresses)
    client = connected.client as unknown as FenceRedisClient
  })
  afterEach(() => connected.close())

  test('each value is written where its slot is, and refused under a lower fence', async () => {
    const resources = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const resource of resources) {
      await guard.write(client, resource, `of ${resource}`, 7n)
      await expect(guard.write(client, resource, 'late', 6n)).rejects.toBeInstanceOf(StaleFenceError)
      expect(await guard.read(client, resource)).toEqual({ value: `of ${resource}`, fence: 7n })
      expect(await cluster.command(keyOf(resource), 'HGET', keyOf(resource), 'fence')).toBe('7')
    }
    const slots = await Promise.all(resources.map((resource) => cluster.slotOf(keyOf(resource))))
    const owners = await Promise.all(slots.map((slot) => cluster.ownerOf(slot)))
    expect(new Set(owners).size).toBeGreaterThan(1)
  })

  test('39: its slot is on its way, and has moved, to a node that does not know the script: the fence refuses as before', async () => {
    const resource = `moved-${kind}`
    await guard.write(client, resource, 'before', 7n)
    const slot = await cluster.slotOf(keyOf(resource))
    const to = await cluster.otherThan(await cluster.ownerOf(slot))
    await to.command('SCRIPT', 'FLUSH')
    const move = await cluster.openSlot(slot, to)
    await expect(guard.write(client, resource, 'late', 6n)).rejects.toBeInstanceOf(StaleFenceError)
    await move.moveKeys([keyOf(resource)])
    await expect(guard.write(client, resource, 'late', 6n)).rejects.toBeInstanceOf(StaleFenceError)
    await guard.write(client, resource, 'meanwhile', 8n)
    await move.finish()
    await expect(guard.write(client, resource, 'late', 7n)).rejects.toBeInstanceOf(StaleFenceError)
    expect(await guard.read(client, resource)).toEqual({ value: 'meanwhile', fence: 8n })
  })
})
