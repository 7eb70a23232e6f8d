import type { Attempt } from '../../store/attempt.ts'
import type { ServerIdentity } from '../../store/contract.ts'
import { infoLine, infoText } from './info.ts'
import type { RedisPort } from './port.ts'

/**
 * Which server a client is connected to, by its run id; a primary and its replicas share their replication id. One command; `null`
 * when the client's user may not ask, or a service shows nothing.
 *
 * @throws what the port throws when there is no connection in time
 */
export async function readIdentity(port: RedisPort, { until }: Attempt): Promise<ServerIdentity | null> {
  if (!port.ready) await port.whenReady(until)
  const reply = await port.send(['INFO']).catch(() => null)
  return identityIn(infoText(reply))
}

/** @param info the reply to INFO */
export function identityIn(info: string): ServerIdentity | null {
  const line = (name: string): string | null => infoLine(info, name)
  const server = line('run_id')
  if (server === null) return null
  const inCluster = line('redis_mode') === 'cluster' || line('cluster_enabled') === '1'
  return {
    server,
    copies: line('master_replid'),
    dependent: inCluster ? 'is a node of a Redis Cluster, whose nodes decide and fail together' : null,
  }
}
