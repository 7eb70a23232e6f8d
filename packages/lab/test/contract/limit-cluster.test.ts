import { limitStoreContract, type LimitStoreBench } from 'holdfast/testing'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { startCluster, type RedisCluster } from '../../src/index.ts'
import { clusterBench, keysWithoutExpiry } from './cluster-bench.ts'

let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster.stop())

describe.concurrent.each(clientKinds)('limit store contract: a redis cluster over %s', (kind) => {
  const cases = limitStoreContract<LimitStoreBench>({
    setUp: async () => clusterBench(kind, cluster),
    keys: async ({ prefix }) => (await cluster.keys(`${prefix}:`)).filter((key) => !key.includes('}:reply:')),
    keysWithoutExpiry: ({ prefix }) => keysWithoutExpiry(cluster, prefix),
  })
  for (const { name, run } of cases) test(name, run)
})
