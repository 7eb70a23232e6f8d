import { redisStore } from 'holdfast/redis'
import type { LockStoreBench, OnceStoreBench } from 'holdfast/testing'
import { connectClient, type ClientKind, type ConnectedClient } from '../../src/clients.ts'
import type { RespConnection } from '../../src/index.ts'
import { systemBench } from './system-bench.ts'

/** A bench whose stores lie on one server, each over a client of its own. */
export function redisBench(kind: ClientKind, url: string): LockStoreBench & OnceStoreBench {
  const clients: ConnectedClient[] = []
  return {
    ...systemBench(),
    connect: async () => {
      const connected = await connectClient(kind, url)
      clients.push(connected)
      return redisStore(connected.client)
    },
    end: async () => {
      for (const client of clients) client.close()
    },
  }
}

/** @param back the way behind the store's back */
export async function keysUnder(back: RespConnection, prefix: string): Promise<string[]> {
  const keys: string[] = []
  let cursor = '0'
  do {
    const [next, found] = (await back.call('SCAN', cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1_000)) as [
      string,
      string[],
    ]
    keys.push(...found)
    cursor = next
  } while (cursor !== '0')
  return keys
}

export async function keysWithoutExpiry(back: RespConnection, prefix: string): Promise<string[]> {
  const endless: string[] = []
  for (const key of await keysUnder(back, prefix)) {
    if ((await back.call('PTTL', key)) === -1) endless.push(key)
  }
  return endless
}
