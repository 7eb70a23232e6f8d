import { onceStoreContract, type OnceStoreBench } from 'holdfast/testing'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { startCluster, type RedisCluster } from '../../src/index.ts'
import { clusterBench, keysWithoutExpiry } from './cluster-bench.ts'

let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster.stop())

describe.concurrent.each(clientKinds)('once store contract: a redis cluster over %s', (kind) => {
  const cases = onceStoreContract<OnceStoreBench>({
    setUp: async () => clusterBench(kind, cluster),
    remove: async (_bench, key) => void (await cluster.command(key, 'DEL', key)),
    keysWithoutExpiry: ({ prefix }) => keysWithoutExpiry(cluster, prefix),
  })
  for (const { name, run } of cases) test(name, run)
})
