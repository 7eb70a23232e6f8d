import type { Attempt } from '../../store/attempt.ts'
import type { ServerIdentity } from '../../store/contract.ts'
import type { StoreFailure } from '../../store/failure.ts'
import { infoLine, infoText } from './info.ts'
import type { RedisPort } from './port.ts'
import { failureOf } from './refusal.ts'

/**
 * Which server a client is connected to, by its run id; a primary and its replicas share their replication id. One command; `null`
 * when the client's user may not ask, or a service shows nothing.
 *
 * @throws what the port throws when there is no connection in time, and a `StoreFailure` when the answer was lost, or it may tell later
 */
export async function readIdentity(port: RedisPort, { until }: Attempt): Promise<ServerIdentity | null> {
  if (!port.ready) await port.whenReady(until)
  const reply = await port.send(['INFO']).catch((error: unknown) => notTold(failureOf(error, port.client)))
  return identityIn(infoText(reply))
}

/** Who may not ask, or asks where nobody knows the command, is told no more the next time. All else passes. */
function notTold(failure: StoreFailure): null {
  if (failure.reason === 'NOPERM' || failure.reason === 'ERR') return null
  throw failure
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
