import { lockStoreContract, type LockStoreBench } from 'holdfast/testing'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { startCluster, type RedisCluster } from '../../src/index.ts'
import { clusterBench, keysWithoutExpiry } from './cluster-bench.ts'

let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster.stop())

describe.concurrent.each(clientKinds)('lock store contract: a redis cluster over %s', (kind) => {
  const cases = lockStoreContract<LockStoreBench>({
    traits: { fences: 'clocked', wake: 'push', clock: 'server', durable: 'server' },
    setUp: async () => clusterBench(kind, cluster),
    remove: async ({ prefix }, key) => {
      // The last fence of a cluster is one for each name.
      const keys = key === `${prefix}:fence` ? await cluster.keys(`${prefix}:{`) : [key]
      const removed = key === `${prefix}:fence` ? keys.filter((each) => each.endsWith(':fence')) : keys
      for (const each of removed) await cluster.command(each, 'DEL', each)
    },
    put: async (_bench, key, value, ttl) => {
      await cluster.command(key, 'SET', key, value, ...(ttl === null ? [] : ['PX', ttl]))
    },
    keysWithoutExpiry: ({ prefix }) => keysWithoutExpiry(cluster, prefix),
  })
  for (const { name, run } of cases) test(name, run)
})
