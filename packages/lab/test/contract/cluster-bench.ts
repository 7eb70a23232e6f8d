import { redisStore } from 'holdfast/redis'
import type { LockStoreBench, OnceStoreBench } from 'holdfast/testing'
import { connectCluster, type ClientKind, type ConnectedCluster } from '../../src/clients.ts'
import type { RedisCluster } from '../../src/index.ts'
import { systemBench } from './system-bench.ts'

/** A bench whose stores lie on a cluster, each over a client of its own. */
export function clusterBench(kind: ClientKind, cluster: RedisCluster): LockStoreBench & OnceStoreBench {
  const clients: ConnectedCluster[] = []
  return {
    ...systemBench(),
    connect: async () => {
      const connected = await connectCluster(kind, cluster.addresses)
      clients.push(connected)
      return redisStore(connected.client)
    },
    end: async () => {
      for (const client of clients) client.close()
    },
  }
}

export async function keysWithoutExpiry(cluster: RedisCluster, prefix: string): Promise<string[]> {
  const endless: string[] = []
  for (const key of await cluster.keys(`${prefix}:`)) {
    if ((await cluster.command(key, 'PTTL', key)) === -1) endless.push(key)
  }
  return endless
}
